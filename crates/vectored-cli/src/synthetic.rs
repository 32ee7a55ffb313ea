//! A simulated machine for tests that must not depend on the real machine.

use vectored::CostModel;
use vectored_machine::FakeClock;
use vectored_machine::model::{CpuInfo, Host, Timer};
use vectored_measure::measure::{SyntheticMachine, log_normal};

pub const STARTED_AT: &str = "2000-01-01T00:00:00Z";

/// A call takes `call_ns`. The samples advance `clock`.
pub fn machine(call_ns: f64, clock: &FakeClock, seed: u64) -> SyntheticMachine {
    let model = CostModel::default().with(|costs| {
        costs.call_ns = call_ns;
        costs.segment_ns = 20.0;
        costs.large_segment_ns = 20.0;
        costs.iovec_step_ns = 40.0;
        costs.byte_ns = 0.03;
        costs.copy_segment_ns = 3.0;
        costs.copy_byte_ns = 0.05;
        costs.copy_byte_uncached_ns = 0.08;
    });
    SyntheticMachine::with_model(clock.clone(), log_normal(0.02), seed, model)
}

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

pub fn timer() -> Timer {
    Timer {
        clock: "invented".to_owned(),
        step_ns: 1,
        reading_ns: 0.0,
        empty_loop_ns: 0.0,
    }
}
