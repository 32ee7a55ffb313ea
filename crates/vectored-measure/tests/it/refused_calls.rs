//! Techniques whose system calls a sandbox refuses are left out, and the others are measured.

use vectored_measure::measure::{MeasureError, Outcome, RunError, techniques};
use vectored_results::model::{
    CellSpec, Experiment, Operation, PageCache, Target, TechniqueName, Workload,
};

use crate::refused_aio::refusing;
use crate::support::{MINIMUM_NS, measure_here};

/// Measures a cell by these techniques while a call is refused.
fn measured(
    (call, errno): (libc::c_long, i32),
    cell: CellSpec,
    rivals: Vec<TechniqueName>,
) -> Result<Outcome, RunError> {
    let experiment = Experiment {
        cells: vec![cell],
        rivals,
        unranked: Vec::new(),
        refine: false,
        budget_ns: MINIMUM_NS,
        seed: 11,
    };
    refusing(call, errno, move || {
        measure_here(&experiment, |sampler| sampler)
    })
}

fn name(name: &'static str) -> TechniqueName {
    TechniqueName::new(name)
}

#[test]
fn a_technique_whose_call_is_refused_is_left_out_and_the_others_are_measured() {
    let list = || Workload::uniform(3, 500);
    let write = |target| CellSpec::write(target, list());
    let read = CellSpec::read(Target::File, list(), PageCache::Hot);
    let copy = || CellSpec::copy(Target::File, Target::FileOverwrite, 5000);
    let to_pipe = CellSpec::copy(Target::File, Target::Pipe, 5000);
    let usual = || techniques(Operation::Copy, true);
    let plain = || vec![TechniqueName::WRITE_EACH, TechniqueName::COPY_THEN_WRITE];
    let beside = |technique: &'static str| [plain(), vec![name(technique)]].concat();
    let reads = vec![TechniqueName::READ_EACH, TechniqueName::READV];
    let table = [
        (
            libc::SYS_writev,
            write(Target::File),
            beside("writev"),
            "writev",
        ),
        (
            libc::SYS_writev,
            write(Target::Pipe),
            beside("writev"),
            "writev",
        ),
        (
            libc::SYS_writev,
            write(Target::Unix),
            beside("writev"),
            "writev",
        ),
        (
            libc::SYS_io_uring_setup,
            write(Target::File),
            beside("io-uring"),
            "io-uring",
        ),
        (
            libc::SYS_io_uring_enter,
            write(Target::File),
            beside("io-uring"),
            "io-uring",
        ),
        (
            libc::SYS_io_setup,
            write(Target::File),
            beside("linux-aio"),
            "linux-aio",
        ),
        (libc::SYS_readv, read, reads, "readv"),
        (
            libc::SYS_copy_file_range,
            copy(),
            usual(),
            "copy-file-range",
        ),
        (libc::SYS_sendfile, copy(), usual(), "sendfile"),
        (libc::SYS_splice, to_pipe, usual(), "splice"),
    ];
    for (call, cell, rivals, refused) in table {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let what = format!("{refused} on {}: {errno}", cell.conditions.place());
            let outcome = measured((call, errno), cell.clone(), rivals.clone());
            let outcome = outcome.unwrap_or_else(|failed| panic!("{what}: {failed}"));
            let cell = &outcome.cells[0];
            let all: Vec<TechniqueName> = cell.refused.iter().map(|one| one.technique).collect();
            assert_eq!(all, [name(refused)], "{what}");
            assert!(cell.techniques.len() + 1 >= rivals.len().min(3), "{what}");
            assert!(
                cell.technique(name(refused)).is_none() && cell.rounds > 0,
                "{what}"
            );
        }
    }
}

#[test]
fn a_run_without_any_other_technique_ends_with_the_remedy() {
    let cell = CellSpec::write(Target::Pipe, Workload::uniform(3, 500));
    let failed = measured(
        (libc::SYS_writev, libc::EPERM),
        cell,
        vec![TechniqueName::WRITEV],
    );
    let failed = failed.unwrap_err();
    assert!(
        matches!(failed.error, MeasureError::Refused { .. }),
        "{failed}"
    );
    let text = failed.to_string();
    assert!(
        text.contains("writev") && text.contains("--technique"),
        "{text}"
    );
    assert!(
        failed.outcome.left_out[0]
            .reason
            .contains("writev is refused here")
    );
}
