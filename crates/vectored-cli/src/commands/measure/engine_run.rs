//! A run of the engine: alone, or as rank 0 or another rank.

use vectored_machine::Clock;
use vectored_measure::measure::{
    MeasureError, Outcome, Progress, RankedSampler, Sampler, Watch, follow, run,
};
use vectored_results::model::Experiment;

use crate::cluster::Team;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Runs the engine on this rank if it is the first. Other ranks follow the first, and have no outcome. An error that ended
/// the run early comes with what was measured before. `save` takes the outcome so far.
pub fn run_engine(
    (experiment, clock): (&Experiment, &dyn Clock),
    own: &mut dyn Sampler,
    team: Option<&Team>,
    interrupt: &Interrupt,
    mut show: impl FnMut(Progress),
    save: Option<&mut dyn FnMut(Outcome)>,
) -> Result<Option<(Outcome, Option<MeasureError>)>, Failure> {
    let watch = Watch {
        progress: &mut show,
        stop: interrupt.flag(),
        // Shortens the borrow.
        save: save.map(|save| save as &mut dyn FnMut(Outcome)),
    };
    let ran = match team {
        None => run(experiment, own, clock, watch),
        Some(team) if !team.is_first() => {
            follow(&*team.group, own, team.host(), &|| interrupt.signal());
            return Ok(None);
        }
        Some(team) => {
            let hear = |signal| interrupt.hear(signal);
            let mut ranked = RankedSampler::new(&*team.group, own, team.host(), &hear);
            run(experiment, &mut ranked, clock, watch)
        }
    };
    match ran {
        Ok(outcome) => Ok(Some((outcome, None))),
        // If a technique moved wrong bytes, its figures are meaningless.
        Err(failed) if failed.outcome.cells.is_empty() || failed.error.is_wrong_bytes() => {
            Err(failed.error.into())
        }
        Err(failed) => Ok(Some((*failed.outcome, Some(failed.error)))),
    }
}
