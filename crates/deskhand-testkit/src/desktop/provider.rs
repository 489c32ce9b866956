//! A fake desktop as a provider: what each question of the seam is answered from.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use deskhand_contract::geometry::Size;
use deskhand_contract::limit::Limit;
use deskhand_contract::provider::{
    AccessibilityStatus, Bitmap, CaptureTarget, ChangeMark, Dispatch, DisplayFacts, Effect, EffectTarget, Fault,
    NativeKey, NativeTree, NativeValue, Profile, Provider, Resolved, TreeAsk, WindowFacts,
};

use super::FakeDesktop;
use crate::script::{Action, Reaction, Rule, Step};

impl Provider for FakeDesktop {
    fn profile(&self) -> Profile {
        self.lock().profile.clone()
    }

    fn accessibility_status(&self, limit: &Limit) -> Result<AccessibilityStatus, Fault> {
        self.step(Step::Status, None, limit)?;
        let state = self.lock();
        Ok(AccessibilityStatus {
            available: true,
            applications: u32::try_from(state.windows.len()).unwrap_or(u32::MAX),
            unresponsive: u32::try_from(state.hanging.len()).unwrap_or(u32::MAX),
            notes: Vec::new(),
        })
    }

    fn windows(&self, limit: &Limit) -> Result<Vec<WindowFacts>, Fault> {
        self.step(Step::Windows, None, limit)?;
        Ok(self.lock().windows.iter().map(|window| window.facts.clone()).collect())
    }

    fn window(&self, window: &NativeKey, limit: &Limit) -> Result<WindowFacts, Fault> {
        self.step(Step::Window, None, limit)?;
        self.lock().window(window).map(|window| window.facts.clone()).ok_or(Fault::Gone)
    }

    fn displays(&self, limit: &Limit) -> Result<Vec<DisplayFacts>, Fault> {
        self.step(Step::Displays, None, limit)?;
        Ok(self.lock().displays.clone())
    }

    fn tree(&self, window: &NativeKey, ask: &TreeAsk, limit: &Limit) -> Result<Arc<NativeTree>, Fault> {
        self.step(Step::Tree, Some(window), limit)?;
        self.lock().tree(window, ask)
    }

    fn resolve(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<Resolved, Fault> {
        self.step(Step::Resolve, Some(window), limit)?;
        self.lock().resolve(window, element)
    }

    fn value(&self, window: &NativeKey, element: &NativeKey, limit: &Limit) -> Result<NativeValue, Fault> {
        self.step(Step::Value, Some(window), limit)?;
        let state = self.lock();
        state.resolve(window, element)?;
        let value = state.nodes[element].element.value.clone();
        match value.ok_or_else(|| Fault::Unsupported("this element has no value".to_owned()))? {
            NativeValue::Text(text) if text.len() > 16 << 10 => Err(Fault::TooLarge),
            value => Ok(value),
        }
    }

    fn perform(&self, target: &EffectTarget<'_>, effect: &Effect, limit: &Limit) -> Dispatch {
        if let Err(fault) = self.step(Step::Perform, None, limit) {
            return Dispatch::NotStarted(fault);
        }
        let (window, element) = (target.window, target.element);
        let reaction = {
            let state = self.lock();
            if state.window(window).is_none() || element.is_some_and(|key| !state.nodes.contains_key(key)) {
                return Dispatch::NotStarted(Fault::Gone);
            }
            let hangs = state.hanging.contains(window);
            let reaction = state.reactions.get(element.unwrap_or(window)).cloned().unwrap_or(Reaction::Obey);
            if hangs { Reaction::Hang } else { reaction }
        };
        let wait_over = || {
            let _ = limit.cancel.wait(limit.remaining());
        };
        let unanswered = |wait: &dyn Fn()| {
            self.lock().acting += 1;
            wait();
            self.lock().acting -= 1;
            Dispatch::Unknown("the application did not answer in time".to_owned())
        };
        match reaction {
            Reaction::Obey => self.obey(window, element, effect, None),
            Reaction::Cut(bytes) => self.obey(window, element, effect, Some(bytes)),
            Reaction::Lie => {}
            Reaction::Later(time) => {
                // Its own moment comes when someone looks again after it: the wait for a change brings it.
                let (window, element, effect) = (window.clone(), element.cloned(), effect.clone());
                self.lock().rules.push(Rule {
                    step: Step::Resolve,
                    skip: 1,
                    times: 1,
                    action: Action::Run(Box::new(move |desktop| {
                        std::thread::sleep(time);
                        desktop.obey(&window, element.as_ref(), &effect, None);
                    })),
                });
            }
            Reaction::Noop => return Dispatch::Noop("the application answered that it did nothing".to_owned()),
            Reaction::NotStarted(fault) => return Dispatch::NotStarted(fault),
            Reaction::Stall => {
                self.obey(window, element, effect, None);
                return unanswered(&wait_over);
            }
            Reaction::Hang => return unanswered(&wait_over),
            Reaction::Deaf(time) => return unanswered(&|| std::thread::sleep(time)),
            Reaction::Die => {
                self.close(window);
                return Dispatch::Unknown("the application ended during the call".to_owned());
            }
            Reaction::Close => {
                self.obey(window, element, effect, None);
                self.close(window);
            }
            Reaction::Open(title) => {
                self.obey(window, element, effect, None);
                self.window(&title);
            }
            Reaction::Vanish => {
                self.obey(window, element, effect, None);
                if let Some(element) = element {
                    self.remove(element);
                }
            }
            Reaction::Panic => panic!("the fake desktop was told to panic"),
        }
        Dispatch::Sent
    }

    fn capture(&self, target: &CaptureTarget<'_>, limit: &Limit) -> Result<Bitmap, Fault> {
        self.step(Step::Capture, None, limit)?;
        let mut state = self.lock();
        let (size, source) = match target {
            CaptureTarget::Window { window, region } => {
                let facts = &state.window(window).ok_or(Fault::Gone)?.facts;
                if facts.minimised {
                    return Err(Fault::NotCapturable("it is minimised".to_owned()));
                }
                let whole = facts.geometry.size();
                (region.map_or(whole, |region| region.size()), whole)
            }
            CaptureTarget::Display { display, without } => {
                let found = state.displays.iter().find(|facts| facts.key == **display).ok_or(Fault::Gone)?;
                let whole = found.geometry.size();
                state.painted_out = without.to_vec();
                (whole, whole)
            }
        };
        let bytes = usize::try_from(Size::area(size) * 4).unwrap_or(0);
        Ok(Bitmap { size, stride: size.width as usize * 4, pixels: vec![0x7f; bytes], source })
    }

    fn change_mark(&self) -> ChangeMark {
        ChangeMark(self.lock().mark)
    }

    fn await_change(&self, since: ChangeMark, window: Option<&NativeKey>, limit: &Limit) -> ChangeMark {
        /// A cancelled caller is let go within this time.
        const STEP: Duration = Duration::from_millis(5);
        let mut state = self.lock();
        loop {
            let seen = match window {
                Some(window) => state.of_window.get(window).copied().unwrap_or(0),
                None => state.mark,
            };
            if seen > since.0 || limit.is_over() {
                return ChangeMark(state.mark.max(since.0));
            }
            let step = limit.remaining().min(STEP);
            state = self.changed.wait_timeout(state, step).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
