//! Shares of a wall time, as exact as that is known.

use crate::model::{Advisory, WallSource};
use crate::report::figures::{MIN_SAID_SHARE, share};

/// Factor by which an estimated wall time may differ from the true one, in either direction.
const ESTIMATE_FACTOR: f64 = 3.0;

/// A share of a traced time: the share of the program's own, shorter time is at least that.
pub(super) fn at_least(share_of_traced: f64) -> String {
    let said = share(share_of_traced);
    if share_of_traced.abs() < MIN_SAID_SHARE || share_of_traced > 1.0 {
        // "under … or more" says nothing, and "over 100 %" needs no bound.
        said
    } else {
        format!("{said} or more")
    }
}

/// A share of an estimated time, as a range: `4.0 % to 36 %`. The program takes at most as long without
/// strace as with it.
pub(super) fn estimated_share(advisory: &Advisory, of_estimate: f64) -> String {
    let longer = match (advisory.traced_wall_s, advisory.wall_s) {
        (Some(traced), Some(wall)) if wall > 0.0 => (traced / wall).clamp(1.0, ESTIMATE_FACTOR),
        _ => ESTIMATE_FACTOR,
    };
    let (least, most) = (of_estimate / longer, of_estimate * ESTIMATE_FACTOR);
    let (low, high) = (share(least), share(most));
    if low == high {
        low
    } else if least.abs() < MIN_SAID_SHARE {
        format!("at most {high}")
    } else if most > 1.0 {
        format!("{low} or more")
    } else {
        format!("{low} to {high}")
    }
}

/// The greatest share of the program's own wall time that all findings may save; `None` if unknown.
pub(super) fn most_share(advisory: &Advisory) -> Option<f64> {
    let factor = match advisory.wall_source? {
        WallSource::Estimated => ESTIMATE_FACTOR,
        // A traced time is no bound on the program's own time.
        WallSource::Traced => return None,
    };
    let wall_s = advisory.wall_s.filter(|wall| *wall > 0.0)?;
    Some(advisory.saving_s / wall_s * factor)
}

/// What merging the uncounted calls would save at most, in s.
pub(super) fn uncounted_s(advisory: &Advisory) -> f64 {
    let uncounted = advisory.uncounted.iter();
    let uncounted = uncounted.filter(|one| !one.key.kind.is_stall());
    uncounted
        .filter_map(|one| one.at_most_s)
        .fold(0.0, |sum, saving| sum + saving)
}

/// Its share of the wall time.
pub(super) fn uncounted_share(advisory: &Advisory) -> Option<f64> {
    share_of_wall(advisory, uncounted_s(advisory))
}

/// The share of the wall time that all that is listed would save at most, stalls as well.
pub(super) fn possible_share(advisory: &Advisory) -> Option<f64> {
    let listed = advisory.uncounted.iter().filter_map(|one| one.at_most_s);
    share_of_wall(advisory, listed.fold(0.0, |sum, saving| sum + saving))
}

fn share_of_wall(advisory: &Advisory, s: f64) -> Option<f64> {
    let wall_s = advisory.wall_s.filter(|wall| *wall > 0.0)?;
    Some(s / wall_s)
}

/// The time that shares refer to.
pub(super) fn share_of(source: Option<WallSource>) -> &'static str {
    match source {
        Some(WallSource::Estimated) => "the estimated wall time",
        Some(WallSource::Traced) | None => "the traced time",
    }
}
