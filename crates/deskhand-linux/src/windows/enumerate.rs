//! Finds the windows of a display: from the window manager's lists, and always from the window tree itself,
//! because popups, some dialogs and everything on a display without a window manager are in no list.
//!
//! Reads only. Every step asks for all windows at once, so that a listing costs about five round trips.

use std::collections::{HashMap, HashSet};

use deskhand_contract::geometry::DesktopRect;
use x11rb::connection::Connection as _;
use x11rb::protocol::res::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, MapState, Window, WindowClass};

use super::activate::ALL_WORKSPACES;
use super::property;
use crate::map::geometry::Edges;
use crate::map::window::{DeclaredType, WindowKind, kind};
use crate::sys::x11::{Atoms, X11, XError};

/// What X11 says of one window. Nothing here is a proof of identity beyond "this id existed just now".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XWindow {
    /// The application's window.
    pub(crate) id: Window,
    /// The child of the root that holds it: the window manager's frame, else the window itself.
    pub(crate) frame: Window,
    /// The title, at most 512 characters; empty where it has none.
    pub(crate) title: String,
    /// The instance and class of `WM_CLASS`.
    pub(crate) class: Option<(String, String)>,
    /// The process that owns the connection, as the server saw it. In the server's pid namespace.
    pub(crate) client_pid: Option<u32>,
    /// `_NET_WM_PID`: a claim, from the application's own pid namespace.
    pub(crate) claimed_pid: Option<u32>,
    /// The machine that the claim is about.
    pub(crate) machine: Option<String>,
    /// The window without border and decoration, in pixels of the root.
    pub(crate) rect: DesktopRect,
    /// Width of its X border.
    pub(crate) border: u16,
    /// What the window manager put around it.
    pub(crate) frame_extents: Edges,
    /// The invisible shadow that is part of it (client-side decorations).
    pub(crate) shadow: Edges,
    /// Whether it is on the screen.
    pub(crate) visibility: Visibility,
    /// What it is for.
    pub(crate) kind: WindowKind,
    /// Whether it bypasses the window manager.
    pub(crate) override_redirect: bool,
    /// Whether it says that it blocks its owner.
    pub(crate) modal: bool,
    /// The window that it belongs to.
    pub(crate) transient_for: Option<Window>,
    /// Bits of a pixel.
    pub(crate) depth: u8,
    /// Whether it is the active window.
    pub(crate) active: bool,
}

/// Whether and why a window cannot be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Mapped, and so are its parents.
    Viewable,
    /// Iconified.
    Minimised,
    /// On another workspace.
    OtherWorkspace,
    /// Not mapped, for no reason that it tells.
    Hidden,
}

/// All windows of a display at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct XWindows {
    /// Front to back; those that are not viewable last.
    pub(crate) windows: Vec<XWindow>,
    /// Whether a window manager that speaks EWMH runs.
    pub(crate) managed: bool,
}

/// Most children of the root that are looked at, from the top of the stack: what lies below more than this many
/// windows is not listed.
pub(crate) const MAX_SCANNED: usize = 1_024;
/// Deepest nesting of window managers' frames around a window.
const MAX_FRAMES: usize = 5;
/// `WM_STATE` of an iconified window.
const ICONIC: u32 = 3;
/// Words of a text property: 512 characters of four bytes.
const TEXT_WORDS: u32 = 512;
/// Most windows in a list property.
const LIST_WORDS: u32 = 4_096;

/// Lists the windows of the default screen.
///
/// # Errors
///
/// [`XError::Unreachable`] only: a window that goes away meanwhile is left out.
pub(crate) fn enumerate(x11: &X11) -> Result<XWindows, XError> {
    let desk = Desk::read(x11)?;
    let scan = Scan::read(x11, &desk)?;
    let windows = describe(x11, &desk, &scan)?;
    Ok(XWindows { windows, managed: desk.manager.is_some() })
}

/// What the root window says.
struct Desk {
    /// Children of the root, bottom to top.
    children: Vec<Window>,
    /// The window manager's list; empty without one.
    listed: Vec<Window>,
    /// The window manager's own window.
    manager: Option<Window>,
    active: Option<Window>,
    focus: Window,
    workspace: Option<u32>,
}

impl Desk {
    fn read(x11: &X11) -> Result<Self, XError> {
        let (conn, atoms, root) = (&x11.conn, &x11.atoms, x11.root);
        let tree = conn.query_tree(root)?;
        let stacking = property::ask(conn, root, atoms._NET_CLIENT_LIST_STACKING, LIST_WORDS)?;
        let list = property::ask(conn, root, atoms._NET_CLIENT_LIST, LIST_WORDS)?;
        let check = property::ask(conn, root, atoms._NET_SUPPORTING_WM_CHECK, 1)?;
        let active = property::ask(conn, root, atoms._NET_ACTIVE_WINDOW, 1)?;
        let workspace = property::ask(conn, root, atoms._NET_CURRENT_DESKTOP, 1)?;
        let focus = conn.get_input_focus()?;

        let children = tree.reply()?.children;
        let mut listed = property::words(stacking)?;
        let list = property::words(list)?;
        let known: HashSet<_> = listed.iter().copied().collect();
        listed.extend(list.into_iter().filter(|window| !known.contains(window)));
        let check = property::word(check)?;
        let active = property::word(active)?.filter(|window| *window != 0);
        let workspace = property::word(workspace)?;
        let focus = focus.reply()?.focus;

        // The properties outlive a window manager that died; its own window does not.
        let manager = match check {
            Some(window) => {
                let echo = property::ask(conn, window, atoms._NET_SUPPORTING_WM_CHECK, 1)?;
                (property::word(echo)? == Some(window)).then_some(window)
            }
            None => None,
        };
        let alive = manager.is_some();
        Ok(Self {
            children,
            listed: if alive { listed } else { Vec::new() },
            manager,
            active: active.filter(|_| alive),
            focus,
            workspace: workspace.filter(|_| alive),
        })
    }
}

/// The windows that are targets, with the child of the root that holds each.
struct Scan {
    targets: Vec<Target>,
}

#[derive(Clone, Copy)]
struct Target {
    id: Window,
    frame: Window,
    /// Position among the root's children from the top.
    depth_from_top: usize,
}

impl Scan {
    fn read(x11: &X11, desk: &Desk) -> Result<Self, XError> {
        let scanned: Vec<Window> = desk.children.iter().rev().copied().take(MAX_SCANNED).collect();
        let order: HashMap<Window, usize> = scanned.iter().enumerate().map(|(at, window)| (*window, at)).collect();
        let mut frames = frames_of(x11, &desk.listed, &order)?;
        let managed: HashSet<Window> = frames.values().copied().collect();
        let bare: Vec<Window> = scanned.iter().copied().filter(|window| !managed.contains(window)).collect();
        for (id, frame) in unlisted(x11, desk, &bare)? {
            frames.entry(id).or_insert(frame);
        }
        let mut targets: Vec<Target> = frames
            .into_iter()
            .map(|(id, frame)| Target { id, frame, depth_from_top: order.get(&frame).copied().unwrap_or(usize::MAX) })
            .collect();
        targets.sort_by_key(|target| (target.depth_from_top, target.id));
        Ok(Self { targets })
    }
}

/// The child of the root above each listed window. A window without one (gone meanwhile) is left out.
fn frames_of(x11: &X11, listed: &[Window], order: &HashMap<Window, usize>) -> Result<HashMap<Window, Window>, XError> {
    let mut frames = HashMap::new();
    let mut open: Vec<(Window, Window)> = Vec::new();
    for window in listed.iter().take(MAX_SCANNED) {
        if order.contains_key(window) {
            frames.insert(*window, *window);
        } else {
            open.push((*window, *window));
        }
    }
    for _ in 0..MAX_FRAMES {
        if open.is_empty() {
            break;
        }
        let asked: Vec<_> =
            open.iter().map(|(_, at)| x11.conn.query_tree(*at)).collect::<Result<_, _>>().map_err(XError::from)?;
        let mut next = Vec::new();
        for ((id, _), cookie) in open.into_iter().zip(asked) {
            let Some(tree) = unless_gone(cookie.reply().map_err(XError::from))? else { continue };
            if order.contains_key(&tree.parent) || tree.parent == x11.root {
                frames.insert(id, if tree.parent == x11.root { id } else { tree.parent });
            } else if tree.parent != 0 {
                next.push((id, tree.parent));
            }
        }
        open = next;
    }
    Ok(frames)
}

/// Windows among `bare` children of the root that no list names: the child itself, or the window with
/// `WM_STATE` inside it. Paired with the child.
fn unlisted(x11: &X11, desk: &Desk, bare: &[Window]) -> Result<Vec<(Window, Window)>, XError> {
    let (conn, atoms) = (&x11.conn, &x11.atoms);
    let asked: Vec<_> = bare
        .iter()
        .map(|window| {
            Ok((
                conn.get_window_attributes(*window)?,
                conn.get_geometry(*window)?,
                property::ask(conn, *window, atoms.WM_STATE, 2)?,
                property::ask(conn, *window, x11rb::protocol::xproto::AtomEnum::WM_CLASS, 1)?,
                property::ask(conn, *window, atoms._NET_WM_WINDOW_TYPE, 1)?,
            ))
        })
        .collect::<Result<_, XError>>()?;
    let mut found = Vec::new();
    let mut frames = Vec::new();
    for (window, (attributes, geometry, state, class, declared)) in bare.iter().zip(asked) {
        let attributes = unless_gone(attributes.reply().map_err(XError::from))?;
        let geometry = unless_gone(geometry.reply().map_err(XError::from))?;
        let state = property::word(state)?;
        let speaks = property::answer(class)?.is_some() || property::answer(declared)?.is_some();
        let (Some(attributes), Some(geometry)) = (attributes, geometry) else { continue };
        if attributes.class != WindowClass::INPUT_OUTPUT || Some(*window) == desk.manager {
            continue;
        }
        let viewable = attributes.map_state == MapState::VIEWABLE;
        // Without a window manager's list, only WM_STATE tells an iconified window from one never shown.
        let iconified = state == Some(ICONIC) && desk.manager.is_none();
        if (state.is_some() && viewable) || iconified {
            found.push((*window, *window));
        } else if viewable && geometry.width > 1 && geometry.height > 1 {
            if speaks {
                found.push((*window, *window));
            } else {
                frames.push(*window);
            }
        }
    }
    found.extend(inside(x11, desk, &frames)?);
    Ok(found)
}

/// For each possible frame the window with `WM_STATE` inside it, else the frame itself, unless it is a part of
/// the window manager's own furniture.
fn inside(x11: &X11, desk: &Desk, frames: &[Window]) -> Result<Vec<(Window, Window)>, XError> {
    let mut found: Vec<(Window, Window)> = Vec::new();
    let mut held: HashSet<Window> = HashSet::new();
    let mut level: Vec<(Window, Window)> = frames.iter().map(|frame| (*frame, *frame)).collect();
    for _ in 0..MAX_FRAMES {
        let trees: Vec<_> =
            level.iter().map(|(at, _)| x11.conn.query_tree(*at)).collect::<Result<_, _>>().map_err(XError::from)?;
        let mut next = Vec::new();
        for ((_, frame), cookie) in level.into_iter().zip(trees) {
            let Some(tree) = unless_gone(cookie.reply().map_err(XError::from))? else { continue };
            next.extend(tree.children.into_iter().map(|child| (child, frame)));
        }
        next.truncate(MAX_SCANNED);
        let states: Vec<_> = next
            .iter()
            .map(|(child, _)| property::ask(&x11.conn, *child, x11.atoms.WM_STATE, 2))
            .collect::<Result<_, _>>()?;
        let mut deeper = Vec::new();
        for ((child, frame), state) in next.into_iter().zip(states) {
            if property::answer(state)?.is_some() {
                found.push((child, frame));
                held.insert(frame);
            } else {
                deeper.push((child, frame));
            }
        }
        deeper.retain(|(_, frame)| !held.contains(frame));
        level = deeper;
        if level.is_empty() {
            break;
        }
    }
    found.extend(frames.iter().filter(|frame| !held.contains(frame)).map(|frame| (*frame, *frame)));
    // A frame of a running window manager whose window it is just letting go of is no target.
    if let Some(manager) = desk.manager {
        let mask = x11.conn.setup().resource_id_mask;
        let override_redirect = |window: Window| -> Result<bool, XError> {
            let attributes = x11.conn.get_window_attributes(window)?.reply().map_err(XError::from);
            Ok(unless_gone(attributes)?.is_some_and(|attributes| attributes.override_redirect))
        };
        let mut kept = Vec::new();
        for (id, frame) in found {
            let furniture = id & !mask == manager & !mask && !override_redirect(id)?;
            if !furniture {
                kept.push((id, frame));
            }
        }
        found = kept;
    }
    Ok(found)
}

/// Reads the facts of every target.
fn describe(x11: &X11, desk: &Desk, scan: &Scan) -> Result<Vec<XWindow>, XError> {
    use x11rb::protocol::xproto::AtomEnum;
    let (conn, atoms) = (&x11.conn, &x11.atoms);
    let pids = client_pids(x11, scan.targets.iter().map(|target| target.id))?;
    let asked: Vec<_> = scan
        .targets
        .iter()
        .map(|target| {
            let id = target.id;
            Ok((
                (
                    conn.get_window_attributes(id)?,
                    conn.get_geometry(id)?,
                    conn.translate_coordinates(id, x11.root, 0, 0)?,
                ),
                (
                    property::ask(conn, id, atoms._NET_WM_NAME, TEXT_WORDS)?,
                    property::ask(conn, id, AtomEnum::WM_NAME, TEXT_WORDS)?,
                    property::ask(conn, id, AtomEnum::WM_CLASS, TEXT_WORDS)?,
                    property::ask(conn, id, atoms.WM_CLIENT_MACHINE, TEXT_WORDS)?,
                ),
                (
                    property::ask(conn, id, atoms._NET_WM_PID, 1)?,
                    property::ask(conn, id, AtomEnum::WM_TRANSIENT_FOR, 1)?,
                    property::ask(conn, id, atoms._NET_WM_DESKTOP, 1)?,
                    property::ask(conn, id, atoms.WM_STATE, 1)?,
                    property::ask(conn, id, atoms._NET_WM_STATE, 64)?,
                    property::ask(conn, id, atoms._NET_WM_WINDOW_TYPE, 16)?,
                    property::ask(conn, id, atoms._NET_FRAME_EXTENTS, 4)?,
                    property::ask(conn, id, atoms._GTK_FRAME_EXTENTS, 4)?,
                ),
            ))
        })
        .collect::<Result<_, XError>>()?;

    let mut windows = Vec::with_capacity(asked.len());
    for (target, (place, texts, rest)) in scan.targets.iter().zip(asked) {
        let attributes = unless_gone(place.0.reply().map_err(XError::from))?;
        let geometry = unless_gone(place.1.reply().map_err(XError::from))?;
        let origin = unless_gone(place.2.reply().map_err(XError::from))?;
        let net_name = property::string(texts.0, atoms)?;
        let name = property::string(texts.1, atoms)?;
        let class = property::class(texts.2)?;
        let machine = property::string(texts.3, atoms)?;
        let claimed_pid = property::word(rest.0)?;
        let transient_for = property::word(rest.1)?;
        let workspace = property::word(rest.2)?;
        let wm_state = property::word(rest.3)?;
        let states = property::words(rest.4)?;
        let types = property::words(rest.5)?;
        let frame_extents = edges(&property::words(rest.6)?);
        let shadow = edges(&property::words(rest.7)?);
        let (Some(attributes), Some(geometry), Some(origin)) = (attributes, geometry, origin) else { continue };
        if attributes.class != WindowClass::INPUT_OUTPUT {
            continue;
        }
        let declared = types.iter().find_map(|atom| declared_type(atoms, *atom));
        let transient = transient_for.filter(|owner| *owner != 0 && *owner != target.id);
        windows.push(XWindow {
            id: target.id,
            frame: target.frame,
            title: net_name.filter(|title| !title.is_empty()).or(name).unwrap_or_default(),
            class,
            client_pid: pids.get(&target.id).copied(),
            claimed_pid: claimed_pid.filter(|pid| *pid != 0),
            machine,
            rect: DesktopRect::new(
                origin.dst_x.into(),
                origin.dst_y.into(),
                geometry.width.into(),
                geometry.height.into(),
            ),
            border: geometry.border_width,
            frame_extents,
            shadow,
            visibility: visibility(
                attributes.map_state == MapState::VIEWABLE,
                desk,
                workspace,
                wm_state,
                states.contains(&atoms._NET_WM_STATE_HIDDEN),
            ),
            kind: kind(declared, attributes.override_redirect, transient.is_some()),
            override_redirect: attributes.override_redirect,
            modal: states.contains(&atoms._NET_WM_STATE_MODAL),
            // A dialog of its whole group says the root.
            transient_for: transient.filter(|owner| *owner != x11.root),
            depth: geometry.depth,
            active: false,
        });
    }
    mark_active(x11, desk, &mut windows)?;
    windows.sort_by_key(|window| window.visibility != Visibility::Viewable);
    Ok(windows)
}

/// The active window is the window manager's word, else the one that holds the input focus.
fn mark_active(x11: &X11, desk: &Desk, windows: &mut [XWindow]) -> Result<(), XError> {
    let active = match desk.active {
        Some(active) => Some(active),
        None if desk.manager.is_some() => None,
        None => holder(x11, desk.focus, windows)?,
    };
    for window in windows {
        window.active = Some(window.id) == active;
    }
    Ok(())
}

/// The window of the list that is `inner` or holds it.
pub(crate) fn holder(x11: &X11, inner: Window, windows: &[XWindow]) -> Result<Option<Window>, XError> {
    /// Deepest nesting of widgets' windows that is followed.
    const MAX_DEPTH: usize = 32;
    let mut at = inner;
    for _ in 0..MAX_DEPTH {
        // 0 is no focus, 1 the focus under the pointer.
        if at <= 1 || at == x11.root {
            return Ok(None);
        }
        if let Some(window) = windows.iter().find(|window| window.id == at || window.frame == at) {
            return Ok(Some(window.id));
        }
        match unless_gone(x11.conn.query_tree(at)?.reply().map_err(XError::from))? {
            Some(tree) => at = tree.parent,
            None => return Ok(None),
        }
    }
    Ok(None)
}

fn visibility(viewable: bool, desk: &Desk, workspace: Option<u32>, wm_state: Option<u32>, hidden: bool) -> Visibility {
    let elsewhere = match (workspace, desk.workspace) {
        (Some(theirs), Some(current)) => theirs != ALL_WORKSPACES && theirs != current,
        _ => false,
    };
    if hidden {
        Visibility::Minimised
    } else if elsewhere && !viewable {
        Visibility::OtherWorkspace
    } else if viewable {
        Visibility::Viewable
    } else if wm_state == Some(ICONIC) {
        Visibility::Minimised
    } else {
        Visibility::Hidden
    }
}

/// The process behind each window, as the server learnt it from the socket. One request for all.
fn client_pids(x11: &X11, windows: impl Iterator<Item = Window>) -> Result<HashMap<Window, u32>, XError> {
    if !x11.extensions.client_ids {
        return Ok(HashMap::new());
    }
    let mask = x11.conn.setup().resource_id_mask;
    let windows: Vec<Window> = windows.collect();
    let bases: HashSet<Window> = windows.iter().map(|window| window & !mask).collect();
    // A question about a client that has just gone fails as a whole, so ask about each client alone.
    let asked: Vec<_> = bases
        .into_iter()
        .map(|base| {
            let spec = res::ClientIdSpec { client: base, mask: res::ClientIdMask::LOCAL_CLIENT_PID };
            Ok((base, x11.conn.res_query_client_ids(&[spec])?))
        })
        .collect::<Result<_, XError>>()?;
    let mut of_base = HashMap::new();
    for (base, cookie) in asked {
        let reply = unless_gone(cookie.reply().map_err(XError::from))?;
        let pid = reply.and_then(|reply| reply.ids.first().and_then(|id| id.value.first().copied()));
        if let Some(pid) = pid.filter(|pid| *pid != 0) {
            of_base.insert(base, pid);
        }
    }
    Ok(windows.into_iter().filter_map(|window| Some((window, *of_base.get(&(window & !mask))?))).collect())
}

/// Left, right, top, bottom, as `_NET_FRAME_EXTENTS` and `_GTK_FRAME_EXTENTS` have them.
fn edges(words: &[u32]) -> Edges {
    /// More than any decoration; a value beyond is not believed.
    const MAX_EDGE: u32 = 4_096;
    match words {
        [left, right, top, bottom] if words.iter().all(|edge| *edge <= MAX_EDGE) => {
            Edges { left: *left, right: *right, top: *top, bottom: *bottom }
        }
        _ => Edges::default(),
    }
}

fn declared_type(atoms: &Atoms, atom: u32) -> Option<DeclaredType> {
    [
        (atoms._NET_WM_WINDOW_TYPE_NORMAL, DeclaredType::Normal),
        (atoms._NET_WM_WINDOW_TYPE_DIALOG, DeclaredType::Dialog),
        (atoms._NET_WM_WINDOW_TYPE_UTILITY, DeclaredType::Utility),
        (atoms._NET_WM_WINDOW_TYPE_TOOLBAR, DeclaredType::Toolbar),
        (atoms._NET_WM_WINDOW_TYPE_SPLASH, DeclaredType::Splash),
        (atoms._NET_WM_WINDOW_TYPE_MENU, DeclaredType::Menu),
        (atoms._NET_WM_WINDOW_TYPE_DROPDOWN_MENU, DeclaredType::DropdownMenu),
        (atoms._NET_WM_WINDOW_TYPE_POPUP_MENU, DeclaredType::PopupMenu),
        (atoms._NET_WM_WINDOW_TYPE_COMBO, DeclaredType::Combo),
        (atoms._NET_WM_WINDOW_TYPE_TOOLTIP, DeclaredType::Tooltip),
        (atoms._NET_WM_WINDOW_TYPE_NOTIFICATION, DeclaredType::Notification),
        (atoms._NET_WM_WINDOW_TYPE_DND, DeclaredType::Dnd),
        (atoms._NET_WM_WINDOW_TYPE_DOCK, DeclaredType::Dock),
        (atoms._NET_WM_WINDOW_TYPE_DESKTOP, DeclaredType::Desktop),
    ]
    .into_iter()
    .find_map(|(known, declared)| (known == atom).then_some(declared))
}

/// The answer, or nothing if the window has gone (or changed in a way that makes the question wrong).
pub(crate) fn unless_gone<T>(answer: Result<T, XError>) -> Result<Option<T>, XError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_of_server() => Err(error),
        Err(_) => Ok(None),
    }
}
