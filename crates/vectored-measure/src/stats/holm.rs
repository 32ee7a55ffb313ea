//! Holm's step-down procedure: many cells, one error rate for the run.

/// Which of the hypotheses with these p-values are rejected, so that with
/// probability at least `1 − family_error` no true one is among them.
///
/// S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
/// Scandinavian Journal of Statistics 6 (1979). It assumes nothing about how
/// the tests depend on each other.
pub fn holm_rejects(p_values: &[f64], family_error: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut rejected = vec![false; p_values.len()];
    for (step, &index) in order.iter().enumerate() {
        let remaining = (p_values.len() - step) as f64;
        if p_values[index] * remaining > family_error {
            break;
        }
        rejected[index] = true;
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_example_rejects_two_of_four() {
        // Thresholds 0.0125, 0.0167, 0.025, 0.05 in order of size.
        assert_eq!(
            holm_rejects(&[0.01, 0.04, 0.03, 0.005], 0.05),
            [true, false, false, true]
        );
    }

    #[test]
    fn a_failed_step_stops_all_later_ones() {
        // 0.03 alone would pass its own threshold of 0.05, were it reached.
        assert_eq!(holm_rejects(&[0.026, 0.03], 0.05), [false, false]);
        assert_eq!(holm_rejects(&[], 0.05), [] as [bool; 0]);
    }
}
