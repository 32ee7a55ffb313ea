//! Decides, from the medians of the engine and of the C loops, whether both agree: pure functions.

use anyhow::Result;
use vectored_results::stats::{median, paired};

use super::Medians;

/// The engine and the C loops always agree if they differ by less than this share.
const LIMIT: f64 = 0.05;

/// The largest limit, however much the C loops differ from themselves.
const MAX_FORGIVEN: f64 = 0.10;

/// One turn of plain C, and one turn of the engine.
type Alternation = (Medians, Medians);

const HEADING: &str = "                                       C     engine   ratio   95 % interval   C's spread   limit";

/// Lets the engine and the C loops measure in turn, in an order that changes from round to round. Prints a line for each
/// technique, and returns whether both agree on all techniques.
pub fn in_turn(
    rounds: usize,
    plain: impl Fn(usize) -> Result<Medians>,
    engine: impl Fn(usize) -> Result<Medians>,
) -> Result<bool> {
    let alternations = (0..rounds).map(|round| {
        if round.is_multiple_of(2) {
            return Ok((plain(round)?, engine(round)?));
        }
        let engine = engine(round)?;
        Ok((plain(round)?, engine))
    });
    println!("{HEADING}");
    let lines = compare(&alternations.collect::<Result<Vec<_>>>()?);
    for (line, _) in &lines {
        println!("{line}");
    }
    Ok(lines.iter().all(|(_, agrees)| *agrees))
}

/// One line for every technique that both measured, and whether they agree on it.
fn compare(alternations: &[Alternation]) -> Vec<(String, bool)> {
    let names = alternations.first().map(|(plain, _)| plain.keys());
    let lines = names.into_iter().flatten().filter_map(|name| {
        let plain: Vec<f64> = alternations.iter().map(|turn| turn.0[name]).collect();
        let engine = alternations.iter().map(|turn| turn.1.get(name).copied());
        line(name, &plain, &engine.collect::<Option<Vec<f64>>>()?)
    });
    lines.collect()
}

fn line(name: &str, plain: &[f64], engine: &[f64]) -> Option<(String, bool)> {
    let logs = std::iter::zip(engine, plain).map(|(engine, plain)| (engine / plain).ln());
    // The robust mean over the alternations of the engine's figure ÷ C's.
    let pair = paired(&logs.collect::<Vec<f64>>())?;
    let spread = spread(plain);
    let limit = LIMIT.max(spread.unwrap_or(0.0).min(MAX_FORGIVEN));
    let agrees = (pair.ratio - 1.0).abs() <= limit;
    let interval = pair
        .interval
        .map(|(low, high)| format!("{low:.3}–{high:.3}"));
    let spread = spread.map(|spread| format!("{:.1} %", 100.0 * spread));
    let [interval, spread] = [interval, spread].map(|text| text.unwrap_or("-".to_owned()));
    let (ratio, limit) = (pair.ratio, 100.0 * limit);
    let [plain, engine] = [median(plain)?, median(engine)?];
    let word = if agrees { "agrees" } else { "DIFFERS" };
    let figures = format!("{plain:>9.3}  {engine:>9.3}   {ratio:.3}   {interval:^13}");
    let line = format!("  {name:<28} {figures}   {spread:>10}   {limit:>3.0} %  {word}");
    Some((line, agrees))
}

/// How much C differs from itself: half the width of the 95 % interval of the ratio between neighbouring rounds of the C loops,
/// as a share.
fn spread(plain: &[f64]) -> Option<f64> {
    let neighbours = plain.chunks_exact(2).map(|pair| (pair[1] / pair[0]).ln());
    let half_width = paired(&neighbours.collect::<Vec<f64>>())?.half_width();
    half_width.is_finite().then_some(half_width)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty rounds. C takes 1000 ns, but longer by the share `spread` in half of the rounds. The engine takes `ratio` times
    /// as long as C.
    fn rounds(ratio: f64, spread: f64) -> Vec<Alternation> {
        let medians = |ns: f64| Medians::from([("writev".to_owned(), ns)]);
        let slow = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
        let turn = |factor: f64| {
            let plain_ns = 1000.0 * (1.0 + spread * factor);
            (medians(plain_ns), medians(ratio * plain_ns))
        };
        slow.into_iter().chain(slow).map(turn).collect()
    }

    fn agrees(ratio: f64, spread: f64) -> bool {
        compare(&rounds(ratio, spread))[0].1
    }

    #[test]
    fn five_percent_both_ways_is_agreement_and_an_unsteady_c_forgives_as_much_up_to_ten() {
        for (spread, within, beyond) in [
            (0.0, [1.04, 0.96], [1.06, 0.94]),
            (0.12, [1.07, 0.94], [1.09, 0.91]),
            (0.5, [1.09, 0.91], [1.11, 0.89]),
        ] {
            assert!(
                within.iter().all(|&ratio| agrees(ratio, spread)),
                "{spread}"
            );
            assert!(
                !beyond.iter().any(|&ratio| agrees(ratio, spread)),
                "{spread}"
            );
        }
    }

    #[test]
    fn a_steady_trend_is_not_spread() {
        let falling: Vec<f64> = (0..20).map(|i| 1000.0 * 0.999_f64.powi(i)).collect();
        assert!(spread(&falling).unwrap() < 1e-9);
    }
}
