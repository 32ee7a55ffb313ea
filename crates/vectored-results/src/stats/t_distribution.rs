//! Student's t distribution.

/// Two-sided p-value of `t` with this many degrees of freedom: the probability of a value at least as far
/// from 0.
///
/// It is the regularised incomplete beta function I(ν ÷ (ν + t²); ν ÷ 2, ½)
/// (Abramowitz and Stegun, 26.7.1). Assumes that `degrees` is positive.
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5).clamp(0.0, 1.0)
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

/// I(x; a, b), by the continued fraction of Abramowitz and Stegun, 26.5.8, in
/// Lentz's form (Press et al., *Numerical Recipes*, 6.4).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly on one side only; the other follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            d = 1.0 / away(1.0 + coefficient * d);
            c = away(1.0 + coefficient / c);
            fraction *= c * d;
        }
        if (fraction / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    ln_front.exp() * fraction / a
}

/// ln Γ(x) for x > 0, by Lanczos' approximation with g = 7 (relative error about
/// 1e-15).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return ln_gamma(x + 1.0) - x.ln();
    }
    let x = x - 1.0;
    let series = std::iter::zip(1.., COEFFICIENTS)
        .map(|(index, coefficient): (u32, f64)| coefficient / (x + f64::from(index)))
        .sum::<f64>()
        + 0.999_999_999_999_809_9;
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
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
