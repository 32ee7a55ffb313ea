//! Student's t distribution.

/// Two-sided p-value of `t` with this many degrees of freedom: the probability of a value at least as far
/// from 0.
///
/// It is the regularised incomplete beta function I(ν ÷ (ν + t²); ν ÷ 2, ½)
/// (Abramowitz and Stegun, 26.7.1). Assumes that `degrees` is a positive whole number.
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    // B(a, ½), from B(1, ½) or B(½, ½) upwards.
    let half = degrees / 2.0;
    let (mut a, mut beta) =
        if half.fract() == 0.0 { (1.0, 2.0) } else { (0.5, std::f64::consts::PI) };
    while a < half {
        beta *= a / (a + 0.5);
        a += 1.0;
    }
    incomplete_beta(degrees / (degrees + t * t), half, 0.5, beta).clamp(0.0, 1.0)
}

/// The `t` whose two-sided p-value is `p`, by bisection. Assumes 0 < p < 1.
pub fn two_sided_quantile(p: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided_p(high, degrees) > p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if two_sided_p(middle, degrees) > p { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// I(x; a, b), by the series of Abramowitz and Stegun, 26.5.4; `beta` is B(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64, beta: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The series converges quickly on one side only. The other side follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a, beta);
    }
    let (mut sum, mut term, mut step) = (0.0, 1.0, 0.0);
    while term > 1e-17 * sum {
        sum += term;
        term *= x * (a + b + step) / (a + 1.0 + step);
        step += 1.0;
    }
    x.powf(a) * (1.0 - x).powf(b) / (a * beta) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_equal_the_tables() {
        // NIST/SEMATECH, critical values of Student's t.
        for (degrees, p, expected) in [
            (1.0, 0.05, 12.706),
            (4.0, 0.05, 2.776),
            (4.0, 0.002, 7.173),
            (8.0, 0.05, 2.306),
            (10.0, 0.01, 3.169),
            (100.0, 0.05, 1.984),
        ] {
            let t = two_sided_quantile(p, degrees);
            assert!((t - expected).abs() < 6e-4, "{degrees} {p}: {t}");
            assert!((two_sided_p(t, degrees) - p).abs() < 1e-9);
        }
    }

    #[test]
    fn extremes_are_certain() {
        assert_eq!(two_sided_p(0.0, 3.0), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, 3.0), 0.0);
        assert_eq!(two_sided_p(f64::NAN, 3.0), 1.0);
        assert!(two_sided_p(1e9, 4.0) < 1e-30);
    }
}
