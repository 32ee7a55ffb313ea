//! A simulated machine, so that tests do not depend on the machine that they run on.

use std::str::FromStr;

use vectored::CostModel;
use vectored_machine::FakeClock;
use vectored_machine::model::{CpuInfo, Host, Timer};
use vectored_measure::measure::{Noise, SyntheticMachine};

/// The start time of every synthetic run.
pub const STARTED_AT: &str = "2000-01-01T00:00:00Z";

/// Costs in ns, and noise: `call=200,segment=20,byte=0.03,copy-segment=3,copy-byte=0.05,sigma=0.02`.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    model: CostModel,
    sigma: f64,
}

impl FromStr for Synthetic {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut synthetic = Synthetic {
            model: CostModel::default().with(|costs| {
                costs.segment_ns = 20.0;
                costs.large_segment_ns = 20.0;
                costs.iovec_step_ns = 40.0;
                costs.copy_byte_ns = 0.03;
                costs.copy_byte_uncached_ns = 0.08;
            }),
            sigma: 0.02,
        };
        for item in text.split(',') {
            let (name, value) = item
                .split_once('=')
                .ok_or_else(|| format!("'{item}' is not NAME=NUMBER"))?;
            let value: f64 = value
                .parse()
                .ok()
                .filter(|value: &f64| (0.0..1e9).contains(value))
                .ok_or_else(|| format!("'{value}' is not a cost from 0 to 1e9 ns"))?;
            let model = &mut synthetic.model;
            *match name {
                "call" => &mut model.call_ns,
                "segment" => &mut model.segment_ns,
                "byte" => &mut model.byte_ns,
                "copy-segment" => &mut model.copy_segment_ns,
                "copy-byte" => &mut model.copy_byte_ns,
                "sigma" => &mut synthetic.sigma,
                _ => return Err(format!("unknown cost '{name}'")),
            } = value;
        }
        Ok(synthetic)
    }
}

impl Synthetic {
    /// The machine, whose samples advance `clock`.
    pub fn machine(&self, clock: &FakeClock, seed: u64) -> SyntheticMachine {
        let noise = Noise::LogNormal { sigma: self.sigma };
        SyntheticMachine::with_model(clock.clone(), noise, seed, self.model)
    }
}

/// The host of a synthetic run.
pub fn host() -> Host {
    Host {
        name: "synthetic".to_owned(),
        system: "Synthetic none".to_owned(),
        kernel: "0.0".to_owned(),
        cpu: CpuInfo {
            model: "invented processor".to_owned(),
            allowed_cpus: vec![0],
            ..CpuInfo::default()
        },
        memory_bytes: 1 << 30,
        iov_max: 1024,
        ..Host::default()
    }
}

/// The timer of a simulated clock.
pub fn timer() -> Timer {
    Timer {
        clock: "invented".to_owned(),
        step_ns: 1,
        reading_ns: 0.0,
        empty_loop_ns: 0.0,
    }
}
