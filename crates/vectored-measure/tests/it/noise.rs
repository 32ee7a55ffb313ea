//! Kinds of noise in the timings of a simulated machine.

use std::collections::HashMap;

use fastrand::Rng;
use vectored_measure::measure;

#[derive(Clone, Copy, Debug)]
pub enum Noise {
    None,
    LogNormal {
        sigma: f64,
    },
    /// A first-order autoregressive series of log factors.
    Autoregressive {
        rho: f64,
        sigma: f64,
        /// `true`: all contenders share one series in order of time, like the load of a machine. `false`: each contender
        /// has a series from round to round, which pairing cannot remove.
        shared: bool,
    },
    /// Changes of speed at random moments, as on shared machines.
    LevelShifts {
        factor: f64,
        probability: f64,
        sigma: f64,
    },
}

/// A standard normal deviate (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

impl From<Noise> for measure::Noise {
    fn from(noise: Noise) -> measure::Noise {
        match noise {
            Noise::None => Box::new(|_, _| 1.0),
            Noise::LogNormal { sigma } => measure::log_normal(sigma),
            Noise::Autoregressive { rho, sigma, shared } => {
                let (mut load, mut own) = (0.0, HashMap::new());
                Box::new(move |rng, contender| {
                    let step = sigma * (1.0 - rho * rho).sqrt() * normal(rng);
                    let fresh = sigma * normal(rng);
                    // The series of a single contender starts in the stationary distribution.
                    let state =
                        if shared { &mut load } else { own.entry(contender).or_insert(fresh) };
                    *state = rho * *state + step;
                    state.exp()
                })
            }
            Noise::LevelShifts {
                factor,
                probability,
                sigma,
            } => {
                let mut slow = false;
                Box::new(move |rng, _| {
                    slow ^= rng.f64() < probability;
                    let level = if slow { factor } else { 1.0 };
                    level * (sigma * normal(rng)).exp()
                })
            }
        }
    }
}
