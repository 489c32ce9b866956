"""pyatspi and dogtail as subjects: runs on the desktop, takes a JSON command a line, answers a line.

    library.py pyatspi|dogtail
"""

import json
import sys
import time


class Pyatspi:
    def __init__(self):
        import pyatspi

        self.api = pyatspi
        self.desktop = pyatspi.Registry.getDesktop(0)

    def frames(self):
        return [frame for application in self.desktop if application for frame in application if frame]

    def windows(self):
        return [frame.name for frame in self.frames()]

    def window(self, title):
        # Some windows are named by their header bar only; then the application's name is theirs.
        frames = self.frames()
        return next((frame for frame in frames if title in (frame.name or "")),
                    None) or next(frame for frame in frames if title in self.application(frame))

    @staticmethod
    def application(frame):
        return frame.getApplication().name or ""

    def tree(self, title):
        lines = []

        def walk(node, depth):
            try:
                action = node.queryAction()
                actions = [action.getName(index) for index in range(action.nActions)]
            except (NotImplementedError, AttributeError):
                actions = []
            held = node.getState().getStates()
            lines.append(f"{'  ' * depth}{node.getRoleName()} {node.name!r} {len(held)} {actions}")
            for index in range(min(node.childCount, 5000)):
                child = node.getChildAtIndex(index)
                if child is not None:
                    walk(child, depth + 1)

        walk(self.window(title), 0)
        return "\n".join(lines)

    def press(self, title, label):
        def find(node):
            if node.name == label and node.getRoleName() in ("push button", "button"):
                return node
            for index in range(min(node.childCount, 5000)):
                child = node.getChildAtIndex(index)
                found = find(child) if child is not None else None
                if found:
                    return found
            return None

        button = find(self.window(title))
        begun = time.monotonic()
        button.queryAction().doAction(0)
        return begun


class Dogtail(Pyatspi):
    def __init__(self):
        import io

        silent, sys.stdout = sys.stdout, io.StringIO()
        try:
            from dogtail import config, tree

            config.config.logDebugToStdOut = config.config.logDebugToFile = False
            config.config.searchCutoffCount = 1
            # It waits after each action by default; what is measured is the action.
            config.config.actionDelay = config.config.defaultDelay = 0
            self.root = tree.root
        finally:
            sys.stdout = silent

    def frames(self):
        return [frame for application in self.root.applications() for frame in application.children]

    def tree(self, title):
        lines = []

        def walk(node, depth):
            lines.append(f"{'  ' * depth}{node.roleName} {node.name!r} {node.sensitive} {node.showing} {list(node.actions)}")
            for child in node.children:
                walk(child, depth + 1)

        walk(self.window(title), 0)
        return "\n".join(lines)

    def press(self, title, label):
        button = self.window(title).child(name=label, retry=False)
        begun = time.monotonic()
        next(iter(button.actions.values())).do()
        return begun


def main():
    subject = {"pyatspi": Pyatspi, "dogtail": Dogtail}[sys.argv[1]]()
    out = sys.stdout
    print(json.dumps({"ready": True}), file=out, flush=True)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        begun = time.monotonic()
        try:
            answer = {"result": getattr(subject, name)(*arguments), "ms": 1000 * (time.monotonic() - begun)}
        except Exception as failure:  # any failure of a peer is a cell of the table
            answer = {"error": f"{type(failure).__name__}: {failure}"[:80]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
