//! Axes.

/// Values from `low` to `high` on the way from one position to another.
pub struct Scale {
    pub low: f64,
    pub high: f64,
    from: f64,
    to: f64,
    is_linear: bool,
}

impl Scale {
    /// A logarithmic axis with a margin, which is a factor; `None` without values.
    pub fn logarithmic(
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
            is_linear: false,
        };
        let is_sound = 0.0 < scale.low && scale.low < scale.high && scale.high.is_finite();
        is_sound.then_some(scale)
    }

    /// An axis from 0 to a little more than the largest value; `None` without values.
    pub fn linear(values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Option<Self> {
        let high = values.fold(0.0, f64::max) * 1.04;
        let is_sound = high > 0.0 && high.is_finite();
        is_sound.then_some(Scale {
            low: 0.0,
            high,
            from,
            to,
            is_linear: true,
        })
    }

    /// The position of a value, which may lie beyond the axis.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.is_linear {
            value / self.high
        } else {
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        };
        self.from + share.clamp(-99.0, 99.0) * (self.to - self.from)
    }

    /// Round values, finer if the axis is short.
    pub fn ticks(&self) -> Vec<f64> {
        if self.is_linear {
            return self.linear_ticks();
        }
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

    /// Multiples of 1, 2 or 5 times a power of ten, at most five of them and 0.
    fn linear_ticks(&self) -> Vec<f64> {
        let decade = 10f64.powf((self.high / 5.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = steps.into_iter().find(|step| self.high / step <= 5.0);
        let step = step.unwrap_or(self.high);
        (0..=5)
            .map(|tick| f64::from(tick) * step)
            .filter(|&value| value <= self.high)
            .collect()
    }

    /// Powers of two, at most about six.
    pub fn powers_of_two(&self) -> Vec<f64> {
        let first = self.low.log2().ceil() as i32;
        let last = self.high.log2().floor() as i32;
        // A malformed file may span hundreds of powers.
        let stride = ((last - first) / 6 + 1).max(1) as usize;
        let powers = (first..=last).step_by(stride);
        powers.map(|power| f64::from(power).exp2()).collect()
    }
}
