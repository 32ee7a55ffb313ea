//! Logarithmic axes.

/// A logarithmic axis: values from `low` to `high`, at positions between `from` and `to`.
pub struct Scale {
    pub low: f64,
    pub high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis for these values. Both ends are moved outwards by the factor `margin`. `None` without values.
    pub fn of(
        values: impl Iterator<Item = f64>,
        (from, to): (f64, f64),
        margin: f64,
    ) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values {
            low = low.min(value);
            high = high.max(value);
        }
        let scale = Scale {
            low: low / margin,
            high: high * margin,
            from,
            to,
        };
        let is_sound = 0.0 < scale.low && scale.low < scale.high && scale.high.is_finite();
        is_sound.then_some(scale)
    }

    /// The position of a value, which may lie beyond the axis.
    pub fn place(&self, value: f64) -> f64 {
        let share = (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        self.from + share.clamp(-99.0, 99.0) * (self.to - self.from)
    }

    /// The values at the ticks: round numbers, closer together if the axis is short.
    pub fn ticks(&self) -> Vec<f64> {
        let span = self.high / self.low;
        let marks: &[f64] = match span {
            _ if span < 1.6 => &[
                1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 3.0, 5.0, 8.0,
            ],
            _ if span < 6.0 => &[1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
            _ if span < 100.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        // A malformed file may span hundreds of decades.
        let stride = ((last - first) / 8 + 1) as usize;
        (first..=last)
            .step_by(stride)
            .flat_map(|decade| marks.iter().map(move |mark| mark * 10f64.powi(decade)))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}
