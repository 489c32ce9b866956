"""A small dialog, the same with every distribution: an entry, Cancel and OK. OK writes what was entered to FILE.

usage: form.py TITLE FILE
"""

import os
import sys

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import Gtk  # noqa: E402

title, file = sys.argv[1:3]
dialog = Gtk.Dialog(title=title)
dialog.add_buttons("Cancel", Gtk.ResponseType.CANCEL, "OK", Gtk.ResponseType.OK)
dialog.set_default_response(Gtk.ResponseType.OK)
box = dialog.get_content_area()
box.add(Gtk.Label(label="Name"))
entry = Gtk.Entry()
box.add(entry)
entry.grab_focus()
dialog.show_all()
if dialog.run() == Gtk.ResponseType.OK:
    with open(file + ".part", "w", encoding="utf-8") as written:
        written.write(entry.get_text())
    os.rename(file + ".part", file)
