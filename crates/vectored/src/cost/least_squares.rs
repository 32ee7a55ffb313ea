//! Robust least squares with a prior.

/// Below this relative residual, a row counts by the square of its residual. Above, a row counts by its residual,
/// so that a disturbed measurement has little influence (Huber's loss).
const HUBER_LIMIT: f64 = 0.01;

/// The standard deviation of the prior of each unknown, in multiples of the prior's value. The prior is wide, so
/// it matters only for unknowns that the measurements do not determine.
const PRIOR_SPREAD: f64 = 3.0;

/// `value ≈ Σ factor · unknown`, with residuals relative to `scale`.
pub(super) struct Row<const N: usize> {
    pub(super) factors: [f64; N],
    pub(super) value: f64,
    pub(super) scale: f64,
}

/// No unknown of the result is negative.
pub(super) fn least_squares<const N: usize>(
    prior: [f64; N],
    rows: impl Iterator<Item = Row<N>>,
) -> [f64; N] {
    let rows: Vec<Row<N>> = rows.collect();
    let mut found = prior;
    let mut weights = vec![1.0; rows.len()];
    // Iteratively reweighted least squares: the residuals of each pass give the weights of the next pass.
    // Ten passes suffice.
    for _ in 0..10 {
        found = solve_positive(prior, &rows, &weights);
        if !found.iter().all(|number| number.is_finite()) {
            // With absurd factors, for example lists of 2^64 bytes, the sums exceed the precision of f64.
            return prior;
        }
        for (row, weight) in std::iter::zip(&rows, &mut weights) {
            let predicted: f64 = (0..N).map(|i| row.factors[i] * found[i]).sum();
            let residual = (row.value - predicted).abs() / (row.scale * HUBER_LIMIT);
            *weight = if residual > 1.0 { 1.0 / residual } else { 1.0 };
        }
    }
    found
}

/// An unknown that would be negative is fixed at 0.
fn solve_positive<const N: usize>(prior: [f64; N], rows: &[Row<N>], weights: &[f64]) -> [f64; N] {
    let mut is_free = [true; N];
    loop {
        let found = solve(prior, rows, weights, is_free);
        let most_negative = (0..N)
            .filter(|&i| found[i] < 0.0)
            .min_by(|&a, &b| found[a].total_cmp(&found[b]));
        match most_negative {
            Some(index) => is_free[index] = false,
            None => return found,
        }
    }
}

/// Solves the normal equations of the free unknowns by Gaussian elimination.
fn solve<const N: usize>(
    prior: [f64; N],
    rows: &[Row<N>],
    weights: &[f64],
    is_free: [bool; N],
) -> [f64; N] {
    // The unit is the prior, so that the costs of a byte and of a call have similar magnitudes.
    let unit = prior.map(|value| if value > 0.0 { value } else { 1.0 });
    let trust = 1.0 / (PRIOR_SPREAD * PRIOR_SPREAD);
    let mut matrix = [[0.0; N]; N];
    let mut right = [0.0; N];
    for i in 0..N {
        matrix[i][i] = trust;
        right[i] = trust * prior[i] / unit[i];
    }
    for (row, weight) in std::iter::zip(rows, weights) {
        let scale = row.scale * HUBER_LIMIT;
        let factors: [f64; N] = std::array::from_fn(|i| row.factors[i] * unit[i] / scale);
        for (i, equation) in matrix.iter_mut().enumerate() {
            for (entry, factor) in std::iter::zip(equation, factors) {
                *entry += weight * factors[i] * factor;
            }
            right[i] += weight * factors[i] * row.value / scale;
        }
    }
    for fixed in (0..N).filter(|&i| !is_free[i]) {
        matrix[fixed] = [0.0; N];
        for equation in &mut matrix {
            equation[fixed] = 0.0;
        }
        matrix[fixed][fixed] = 1.0;
        right[fixed] = 0.0;
    }
    // The prior makes the matrix positive definite, so no pivot is 0. Only factors that exceed the prior by more
    // than the precision of f64 can make a pivot 0.
    for pivot in 0..N {
        let above = matrix[pivot];
        for below in pivot + 1..N {
            let share = matrix[below][pivot] / above[pivot];
            for (entry, factor) in std::iter::zip(&mut matrix[below], above) {
                *entry -= share * factor;
            }
            right[below] -= share * right[pivot];
        }
    }
    let mut found = [0.0; N];
    for i in (0..N).rev() {
        let known: f64 = (i + 1..N).map(|j| matrix[i][j] * found[j]).sum();
        found[i] = (right[i] - known) / matrix[i][i];
    }
    for i in 0..N {
        found[i] *= unit[i];
    }
    found
}
