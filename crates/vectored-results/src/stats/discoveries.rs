//! Many tests, one rate of false discoveries.

/// Which hypotheses are rejected, by their p-values. On average, at most the share `rate` of the rejected hypotheses is true.
///
/// Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate", J. R. Statist. Soc. B 57 (1995). Assumes that the
/// tests are independent, or depend on each other positively.
pub fn discoveries(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut sorted = p_values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let passes = |&(rank, p): &(usize, &f64)| p * p_values.len() as f64 <= rate * (rank + 1) as f64;
    let last = sorted.iter().enumerate().rfind(passes);
    let threshold = last.map_or(f64::NEG_INFINITY, |(_, &p)| p);
    p_values.iter().map(|&p| p <= threshold).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passed_step_passes_all_before_it() {
        // Thresholds 0.0125, 0.025, 0.0375, 0.05 in order of size.
        let p_values = [0.03, 0.6, 0.036, 0.005];
        assert_eq!(discoveries(&p_values, 0.05), [true, false, true, true]);
        assert_eq!(discoveries(&[0.026, 0.06], 0.05), [false, false]);
        assert_eq!(discoveries(&[], 0.05), [] as [bool; 0]);
    }
}
