//! `deskhand control`

use clap::{ArgMatches, Args, Command, FromArgMatches};
use deskhand_contract::action::Tool;

use super::action::{self, Call};

/// Act on what was observed. Each answer says what is proven about the effect.
#[derive(Debug)]
pub(super) struct Control(pub(super) Call);

impl Args for Control {
    fn augment_args(command: Command) -> Command {
        action::augment(command, Tool::ComputerControl)
            .about("Act on what was observed. Each answer says what is proven about the effect.")
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Control {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        action::read(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
