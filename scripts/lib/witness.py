#!/usr/bin/python3
"""An independent look at a desktop, through GNOME's own accessibility library: runs there, and knows nothing of Deskhand.

    witness.py names APPLICATION      the roles and names of what is shown and can be operated, one JSON list
    witness.py state APPLICATION NAME what the first element of that name says of itself, one JSON object
    witness.py texts APPLICATION      every text and name, one JSON list

APPLICATION is a part of the name of the application or of its window.
"""

import json
import re
import sys
import warnings

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402

# Its newer names are not in the older releases.
warnings.simplefilter("ignore", DeprecationWarning)
OPERABLE = {"push button", "button", "toggle button", "check box", "radio button", "text", "entry", "password text", "combo box",
            "spin button", "slider", "menu", "menu item", "check menu item", "radio menu item", "page tab", "link"}
MOST = 20_000


def main(what, application, name=""):
    # Applications without a tree of their own must not make the witness wait.
    Atspi.set_timeout(1500, 3000)
    found, unshown = [], []
    for node in nodes(application):
        try:
            if what == "names":
                states = node.get_state_set()
                shown = states.contains(Atspi.StateType.SHOWING) and states.contains(Atspi.StateType.VISIBLE)
                # Names that are a widget's class name nothing that a person sees.
                if node.get_role_name() in OPERABLE and node.get_name() and not re.match(r"(Gtk|Adw)[A-Z]", node.get_name()):
                    (found if shown else unshown).append([node.get_role_name(), node.get_name()])
            elif what == "texts":
                found += [text for text in (text_of(node), node.get_name()) if text]
            elif node.get_name() == name:
                states = node.get_state_set()
                return {"role": node.get_role_name(), "checked": states.contains(Atspi.StateType.CHECKED),
                        "pressed": states.contains(Atspi.StateType.PRESSED), "selected": states.contains(Atspi.StateType.SELECTED),
                        "focused": states.contains(Atspi.StateType.FOCUSED), "text": text_of(node), "value": value_of(node)}
        except Exception:  # what vanishes while it is looked at is not there
            continue
    # GTK 4 says of nothing inside a window that it shows.
    return {} if what == "state" else found or unshown


def nodes(application):
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        try:
            program = desktop.get_child_at_index(index)
            windows = [program.get_child_at_index(at) for at in range(program.get_child_count())]
        except Exception:
            continue
        titles = [window.get_name() or "" for window in windows if window]
        if application in (program.get_name() or "") or any(application in title for title in titles):
            queue, seen = [window for window in windows if window], 0
            while queue and seen < MOST:
                node = queue.pop(0)
                seen += 1
                yield node
                try:
                    # What says that it manages its descendants may have more of them than anyone can read.
                    manages = node.get_state_set().contains(Atspi.StateType.MANAGES_DESCENDANTS)
                    count = min(node.get_child_count(), 30 if manages else MOST)
                    queue += [child for child in (node.get_child_at_index(at) for at in range(count)) if child]
                except Exception:
                    continue


def text_of(node):
    text = node.get_text_iface()
    return Atspi.Text.get_text(text, 0, min(Atspi.Text.get_character_count(text), 4000)) if text else ""


def value_of(node):
    value = node.get_value_iface()
    return Atspi.Value.get_current_value(value) if value else None


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
