//! Advice on joining: up to which size several messages are copied into one call.

use vectored_report::words::capital;

use crate::model::{Crossover, TechniqueName};
use crate::report::advice_figures::{dearest, longer, one_winner, place, ratios, size, span};
use crate::stats::SizeSeries;

/// Whether only joining into one call and a call for each message compete.
pub(crate) fn is_question(rivals: &[TechniqueName]) -> bool {
    rivals.len() == 2
        && rivals.contains(&TechniqueName::WRITE_EACH)
        && rivals.contains(&TechniqueName::COPY_THEN_WRITE)
}

/// `Joining 16 messages into one call is faster than 16 calls at every size from 64 B to 1 KiB; 16 calls take
/// 1.3 to 12 times as long.` `None` if no size, or not one technique, supports that.
pub(crate) fn one_answer(series: &SizeSeries<'_>) -> Option<String> {
    let count = series.shape.segment_count;
    let one = one_winner(&series.cells)?;
    let calls = format!("{count} calls");
    let joining = format!("joining {count} messages into one call");
    let (winner, is, loser, take) = match one.winner {
        TechniqueName::WRITE_EACH => (&calls, "are", &joining, "joining takes".to_owned()),
        _ => (&joining, "is", &calls, format!("{calls} take")),
    };
    let other = match one.winner {
        TechniqueName::WRITE_EACH => TechniqueName::COPY_THEN_WRITE,
        _ => TechniqueName::WRITE_EACH,
    };
    let costs = span(&ratios(&one.won, other, one.winner));
    let costs = costs.map_or_else(String::new, |longer| format!("; {take} {longer}"));
    Some(format!(
        "{} {is} faster than {loser} {} {}{costs}.",
        capital(winner),
        one.at_sizes,
        one.range
    ))
}

/// `Joining 16 messages into one call is faster than 16 calls up to 33.0 KiB [28.1, 39.0]. 16 calls of 64 B take
/// 12 times as long, joining messages of 64 KiB takes 14 % longer.`
pub(crate) fn up_to(series: &SizeSeries<'_>, crossover: &Crossover) -> String {
    let count = series.shape.segment_count;
    let place = place(crossover);
    let limit = match crossover.below {
        TechniqueName::COPY_THEN_WRITE => format!("up to {place}"),
        _ => format!("from {place} on"),
    };
    let mut text =
        format!("Joining {count} messages into one call is faster than {count} calls {limit}.");
    let joined = |bytes: f64| match crossover.below {
        TechniqueName::COPY_THEN_WRITE => bytes < crossover.low_bytes,
        _ => bytes > crossover.high_bytes,
    };
    let apart = |bytes: f64| match crossover.below {
        TechniqueName::COPY_THEN_WRITE => bytes > crossover.high_bytes,
        _ => bytes < crossover.low_bytes,
    };
    let calls = dearest(
        &series.cells,
        TechniqueName::WRITE_EACH,
        TechniqueName::COPY_THEN_WRITE,
        joined,
    )
    .map(|(cell, ratio)| format!("{count} calls of {} take {}", size(cell), longer(ratio)));
    let joining = dearest(
        &series.cells,
        TechniqueName::COPY_THEN_WRITE,
        TechniqueName::WRITE_EACH,
        apart,
    )
    .map(|(cell, ratio)| format!("joining messages of {} takes {}", size(cell), longer(ratio)));
    let wrong: Vec<String> = [calls, joining].into_iter().flatten().collect();
    if !wrong.is_empty() {
        text += &format!(" {}.", capital(&wrong.join(", ")));
    }
    text
}
