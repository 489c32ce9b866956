//! `deskhand observe`

use clap::{ArgMatches, Args, Command, FromArgMatches};
use deskhand_contract::action::Tool;

use super::action::{self, Call};

/// Read the desktop: windows, semantic trees, elements, pictures. Changes nothing.
#[derive(Debug)]
pub(super) struct Observe(pub(super) Call);

impl Args for Observe {
    fn augment_args(command: Command) -> Command {
        action::augment(command, Tool::ComputerObserve)
            .about("Read the desktop: windows, semantic trees, elements, pictures. Changes nothing.")
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Observe {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        action::read(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
