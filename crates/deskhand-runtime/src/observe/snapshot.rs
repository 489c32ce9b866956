//! Pictures: of a window its own pixels, of a display without the windows that must not be seen.

use std::sync::atomic::Ordering;

use deskhand_contract::action::ImageBounds;
use deskhand_contract::error::{CallError, ErrorCode};
use deskhand_contract::geometry::{Size, WindowRect};
use deskhand_contract::id::{DisplayId, SurfaceId};
use deskhand_contract::provider::{Bitmap, CaptureTarget, DisplayFacts, Fault, NativeKey, WindowFacts};
use deskhand_contract::reply::{Reply, Snapshot};

use super::{Image, windows};
use crate::admit;
use crate::audit::{Entry, Happening};
use crate::bind;
use crate::call::Call;
use crate::clock::rfc3339;
use crate::fault::list_displays;
use crate::image::{self, Encoded};

/// A window's picture.
pub(crate) fn window(
    call: &Call<'_>,
    surface: &SurfaceId,
    region: Option<WindowRect>,
    bounds: ImageBounds,
) -> Result<(Reply, Image), CallError> {
    let target = bind::target(call, surface, None)?;
    let facts = windows::usable(call, &target)?;
    admit::capture(call)?;
    admit::content(call, &facts, None)?;
    let whole = WindowRect::new(0, 0, facts.geometry.width, facts.geometry.height);
    if let Some(region) = region
        && !whole.contains_rect(region)
    {
        let message =
            format!("The region is not inside the window, which has {} by {} pixels.", whole.width, whole.height);
        return Err(call.reject(ErrorCode::InvalidRequest, message));
    }
    let key = target.window.clone();
    let bitmap = call
        .read(move |provider, limit| provider.capture(&CaptureTarget::Window { window: &key, region }, limit))
        .map_err(|fault| capture_fault(call, fault))?;
    // A password field that got the focus meanwhile may be in the picture.
    admit::content(call, &facts, None)?;
    let source = bitmap.source;
    let captured = region.unwrap_or(WindowRect::new(0, 0, bitmap.size.width, bitmap.size.height));
    let encoded = encode(call, bitmap, bounds)?;
    record(call, Some(surface), None, &encoded)?;
    let snapshot = Snapshot { surface_id: Some(surface.clone()), ..described(call, source, captured, &encoded) };
    Ok((Reply::Snapshot(snapshot), Some(encoded.bytes)))
}

/// A display's picture.
pub(crate) fn display(call: &Call<'_>, display: &DisplayId, bounds: ImageBounds) -> Result<(Reply, Image), CallError> {
    let stale = |what: &str| {
        call.fail(ErrorCode::StaleDisplay, format!("{what} List the displays again.")).recover(list_displays())
    };
    let Some(known) = call.session.held().displays.get(display).cloned() else {
        return Err(stale("This display_id is not of this session's last list of displays."));
    };
    admit::capture(call)?;
    let there = call.read(|provider, limit| provider.displays(limit)).map_err(|fault| call.fault(fault))?;
    if !there.contains(&known) {
        return Err(stale("This display is gone or has changed."));
    }
    let all = call.read(|provider, limit| provider.windows(limit)).map_err(|fault| call.fault(fault))?;
    let hidden = hidden(call, &all)?;
    let (key, without) = (known.key.clone(), hidden.clone());
    let bitmap = call
        .read(move |provider, limit| {
            provider.capture(&CaptureTarget::Display { display: &key, without: &without }, limit)
        })
        .map_err(|fault| match fault {
            Fault::Gone => stale("This display is gone."),
            fault => capture_fault(call, fault),
        })?;
    // A window that must not be seen and came meanwhile may be in the picture.
    let all_now = call.read(|provider, limit| provider.windows(limit)).map_err(|fault| call.fault(fault))?;
    if self::hidden(call, &all_now)?.iter().any(|key| !hidden.contains(key)) {
        let message = "A window that must not be seen came while the picture was taken. Try again.";
        return Err(call.fail(ErrorCode::ComputerCaptureDenied, message));
    }
    let source = bitmap.source;
    let captured = WindowRect::new(0, 0, bitmap.size.width, bitmap.size.height);
    let encoded = encode(call, bitmap, bounds)?;
    record(call, None, Some(display), &encoded)?;
    let generation = call.runner.snapshots.fetch_add(1, Ordering::Relaxed) + 1;
    let snapshot = Snapshot {
        display_id: Some(display.clone()),
        snapshot_generation: Some(generation),
        painted_out: Some(visible(&all, &hidden, &known)),
        ..described(call, source, captured, &encoded)
    };
    Ok((Reply::Snapshot(snapshot), Some(encoded.bytes)))
}

/// The windows that must not be seen: refused ones, and the one in front where a password field of it has the focus
/// or nothing proves that none has.
fn hidden(call: &Call<'_>, all: &[WindowFacts]) -> Result<Vec<NativeKey>, CallError> {
    let mut hidden = Vec::new();
    for facts in all {
        let secret = || match admit::protected_focus(call, &facts.key) {
            Ok(found) => Ok(found),
            Err(Fault::Unsupported(_) | Fault::Gone) => Ok(false),
            Err(Fault::Unresponsive) => Ok(true),
            Err(fault) => Err(call.window_fault(fault)),
        };
        if admit::window(facts).is_some() || (facts.foreground && secret()?) {
            hidden.push(facts.key.clone());
        }
    }
    Ok(hidden)
}

/// How many of the hidden windows would have shown on that display.
fn visible(all: &[WindowFacts], hidden: &[NativeKey], display: &DisplayFacts) -> u32 {
    let shows = |facts: &&WindowFacts| {
        hidden.contains(&facts.key)
            && !facts.minimised
            && !facts.other_workspace
            && facts.geometry.intersection(display.geometry).is_some()
    };
    u32::try_from(all.iter().filter(shows).count()).unwrap_or(u32::MAX)
}

fn capture_fault(call: &Call<'_>, fault: Fault) -> CallError {
    match fault {
        Fault::Gone => call.stale_surface("This window is gone."),
        Fault::Unsupported(why) => {
            call.fail(ErrorCode::ComputerCaptureDenied, format!("It has no pixels to capture: {why}."))
        }
        fault => call.fault(fault),
    }
}

fn encode(call: &Call<'_>, bitmap: Bitmap, bounds: ImageBounds) -> Result<Encoded, CallError> {
    image::jpeg(bitmap, bounds)
        .map_err(|why| call.fail(ErrorCode::ComputerCaptureDenied, format!("The capture is not usable: {why}.")))
}

fn record(
    call: &Call<'_>,
    surface: Option<&SurfaceId>,
    display: Option<&DisplayId>,
    encoded: &Encoded,
) -> Result<(), CallError> {
    let row = Entry {
        surface: surface.cloned(),
        display: display.cloned(),
        dimensions: Some(encoded.size),
        image_sha256: Some(encoded.sha256.clone()),
        ..call.entry(Happening::Read)
    };
    call.record(row).map(|_| ())
}

fn described(call: &Call<'_>, source: Size, region: WindowRect, encoded: &Encoded) -> Snapshot {
    Snapshot {
        surface_id: None,
        display_id: None,
        snapshot_generation: None,
        source,
        region,
        output: encoded.size,
        mime: encoded.mime.to_owned(),
        bytes: encoded.bytes.len() as u64,
        sha256: encoded.sha256.clone(),
        captured_at: rfc3339(call.runner.world.clock.wall()),
        painted_out: None,
    }
}
