//! Pins the measuring thread to a CPU.

use vectored_machine::host::{Pinning, pin_measuring_thread};

use crate::failure::Failure;

/// Returns the CPU of the measuring thread and the CPU for readers. A value is `None` if there is no such CPU.
pub fn pin(pinning: Pinning, allowed: &[usize]) -> Result<(Option<usize>, Option<usize>), Failure> {
    pin_measuring_thread(pinning).map_err(|error| match pinning {
        Pinning::Cpu(cpu) if !allowed.contains(&cpu) => Failure::usage(format!(
            "cannot run on CPU {cpu}: this process may use only these CPUs: {}; choose one with --pin",
            allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
        )),
        _ => Failure::from(anyhow::anyhow!(
            "cannot pin the process to one CPU: {error}; to run on any CPU, use --pin none"
        )),
    })
}
