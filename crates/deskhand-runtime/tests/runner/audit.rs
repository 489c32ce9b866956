//! What is written, when, and that nothing secret is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deskhand_contract::action::{Action, ImageBounds, TextMode};
use deskhand_contract::error::ErrorCode;
use deskhand_contract::role::Role;
use deskhand_contract::verdict::{ExecutionState, Status};
use deskhand_runtime::Policy;
use deskhand_runtime::audit::{FileRecord, Happening, Link, MemoryRecord, Record, Row, check, verify};
use deskhand_testkit::{Element, Reaction, Step};

use crate::stage::{LOOK, Stage};

fn happenings(stage: &Stage) -> Vec<Happening> {
    stage.record.rows().iter().map(|row| row.entry.happening).collect()
}

#[test]
fn an_effect_is_two_linked_rows_and_the_first_one_comes_before_it() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Checkbox, "Remember"));
    let record = Arc::clone(&stage.record);
    let seen = Arc::new(AtomicBool::new(false));
    let saw = Arc::clone(&seen);
    stage.desktop.before(Step::Perform, 0, move |_| {
        let last = record.rows().pop().map(|row| row.entry.happening);
        saw.store(last == Some(Happening::Intent), Ordering::SeqCst);
    });
    stage.done(&one.press());
    assert!(seen.load(Ordering::SeqCst), "the intent is written before dispatch");
    assert_eq!(happenings(&stage), [Happening::Grant, Happening::Intent, Happening::Outcome]);
    let rows = stage.record.rows();
    let (grant, intent, outcome) = (&rows[0].entry, &rows[1].entry, &rows[2].entry);
    assert_eq!(intent.grant, grant.grant);
    assert_eq!(outcome.intent, Some(rows[1].number));
    assert_eq!(intent.action, "computer_control.press");
    assert_eq!((&intent.surface, &intent.element), (&Some(one.surface.clone()), &Some(one.element.clone())));
    assert_eq!((intent.role, intent.execution_state), (Some(Role::Checkbox), None));
    assert_eq!((outcome.execution_state, outcome.status), (Some(ExecutionState::Completed), Some(Status::Confirmed)));
    // The grant is minted once.
    stage.done(&one.press());
    assert_eq!(happenings(&stage).iter().filter(|one| **one == Happening::Grant).count(), 1);
}

#[test]
fn every_end_is_written() {
    let stage = Stage::new();
    let one = stage.one(Element::new(Role::Checkbox, "x"));
    stage.desktop.react(&one.key, Reaction::Lie);
    stage.error(&one.press());
    let last = stage.record.rows().pop().unwrap().entry;
    assert_eq!((last.happening, last.error), (Happening::Outcome, Some(ErrorCode::OutcomeUnknown)));
    stage.desktop.react(&one.key, Reaction::Noop);
    stage.error(&one.press());
    let last = stage.record.rows().pop().unwrap().entry;
    assert_eq!((last.happening, last.status), (Happening::Outcome, Some(Status::SuspectedNoop)));
    stage.desktop.remove(&one.key);
    stage.error(&one.press());
    let last = stage.record.rows().pop().unwrap().entry;
    assert_eq!((last.happening, last.error), (Happening::Refusal, Some(ErrorCode::StaleElement)));
}

#[test]
fn nothing_secret_is_written() {
    let stage = Stage::new();
    let window = stage.desktop.window("Title-secret");
    let root = stage.desktop.root(&window);
    let field = stage.desktop.add(&root, Element::new(Role::Textbox, "Name-secret").text("value-secret"));
    let one = stage.known(&window, &field);
    stage.reply(&one.state(true));
    stage.done(&one.text(TextMode::Replace, "typed-secret"));
    stage.reply(&one.snapshot());
    let deskhand_contract::reply::Reply::Displays(displays) = stage.reply(&Action::Displays { limit: 1 }) else {
        panic!()
    };
    let display = displays.displays[0].display_id.clone();
    stage.reply(&Action::SnapshotDisplay { display, bounds: ImageBounds::default() });
    let rows = stage.record.rows();
    let written = serde_json::to_string(&rows).unwrap();
    assert!(!written.contains("secret"), "{written}");
    assert!(written.contains("\"text_bytes\":12"), "lengths are: {written}");
    let reads: Vec<_> =
        rows.iter().filter(|row| row.entry.happening == Happening::Read).map(|row| row.entry.action.as_str()).collect();
    assert_eq!(
        reads,
        [
            "computer_observe.element_state",
            "computer_observe.snapshot_window",
            "computer_observe.displays",
            "computer_observe.snapshot_display"
        ]
    );
    let picture = rows.iter().find(|row| row.entry.action.ends_with("snapshot_window")).unwrap();
    assert!(picture.entry.image_sha256.as_ref().is_some_and(|digest| digest.len() == 64));
    assert!(picture.entry.dimensions.is_some());
}

/// A record whose disk can be full.
#[derive(Default)]
struct Full {
    kept: Arc<MemoryRecord>,
    full: AtomicBool,
}

impl Record for Full {
    fn last(&self) -> io::Result<Option<Link>> {
        self.kept.last()
    }

    fn append(&self, row: &Row) -> io::Result<()> {
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.kept.append(row)
    }
}

#[test]
fn without_its_row_an_effect_does_not_happen_and_nothing_private_is_handed_out() {
    let record = Arc::new(Full::default());
    let policy = Policy { look_for: LOOK, ..Policy::private_desktop() };
    let stage = Stage::over(policy, Arc::clone(&record.kept), Arc::clone(&record) as _);
    let one = stage.one(Element::new(Role::Textbox, "x").text("held"));
    // Neither the row of a grant nor that of an intent can be spared.
    for granted in [false, true] {
        record.full.store(true, Ordering::SeqCst);
        let performed = stage.effects().len();
        let error = stage.refused(&one.focus(), ErrorCode::Internal);
        assert!(error.message.contains("audit"), "{}", error.message);
        assert_eq!(stage.effects().len(), performed);
        if !granted {
            record.full.store(false, Ordering::SeqCst);
            stage.done(&one.focus());
        }
    }
    stage.refused(&one.state(true), ErrorCode::Internal);
    assert!(stage.call(&one.snapshot()).image.is_none());
    assert_eq!(stage.effects().len(), 1);
    // What is not private stays.
    stage.tree(&one.surface, None);
    record.full.store(false, Ordering::SeqCst);
    stage.done(&one.focus());
    // The chain is whole, without a trace of what was not written.
    let mut last = None;
    for row in record.kept.rows() {
        last = Some(check(last.as_ref(), &row).unwrap());
    }
}

fn filled(path: &std::path::Path) -> Vec<String> {
    let record = Arc::new(FileRecord::open(path).unwrap());
    let stage = Stage::over(Policy { look_for: LOOK, ..Policy::private_desktop() }, Arc::default(), record as _);
    let one = stage.one(Element::new(Role::Checkbox, "x"));
    stage.done(&one.press());
    stage.done(&one.press());
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_file_of_rows_is_whole_goes_on_and_shows_every_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let lines = filled(&path);
    assert_eq!((lines.len() as u64, verify(&path).unwrap()), (5, 5));
    // Another process goes on where this one ended.
    assert_eq!(filled(&path).len(), 10);
    assert_eq!(verify(&path).unwrap(), 10);

    type Tamper = fn(&mut Vec<String>);
    let tampers: [(&str, Tamper); 6] = [
        ("a word changed", |lines| lines[2] = lines[2].replace("completed", "not_started")),
        ("a row taken out", |lines| drop(lines.remove(1))),
        ("the first row taken out", |lines| drop(lines.remove(0))),
        ("two rows exchanged", |lines| lines.swap(1, 2)),
        ("a row doubled", |lines| lines.insert(1, lines[1].clone())),
        ("a line of something else", |lines| lines.insert(1, "{}".to_owned())),
    ];
    deskhand_testkit::check(tampers, |tamper| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let mut lines = filled(&path);
        verify(&path).unwrap();
        tamper(&mut lines);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        assert_eq!(verify(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(FileRecord::open(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    });
}

#[test]
fn half_a_row_at_the_end_is_what_a_crash_leaves_and_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    filled(&path);
    let whole = std::fs::read(&path).unwrap();
    for left in [1, 10, 200] {
        let mut bytes = whole.clone();
        bytes.extend_from_slice(&whole[..left]);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(verify(&path).unwrap(), 5);
        drop(FileRecord::open(&path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn one_process_writes_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let first = FileRecord::open(&path).unwrap();
    assert_eq!(FileRecord::open(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(first);
    FileRecord::open(&path).unwrap();
}
