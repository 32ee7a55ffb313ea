//! Techniques whose system calls a sandbox refuses are left out, and the others are measured.

use vectored_measure::measure::{MeasureError, Outcome, RunError, techniques};
use vectored_results::model::{CellSpec, Experiment, PageCache, Target, TechniqueName, Workload};

use crate::refused_aio::refusing;
use crate::support::{MINIMUM_NS, measure_here};

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
    refusing(call, errno, move || measure_here(&experiment, |_| ()))
}

#[test]
fn a_technique_whose_call_is_refused_is_left_out_and_the_others_are_measured() {
    let list = || Workload::uniform(3, 500);
    let write = |target| CellSpec::write(target, list());
    let read = CellSpec::read(Target::File, list(), PageCache::Hot);
    let copy = |to| CellSpec::copy(Target::File, to, 5000);
    let (file, overwritten, pipe) = (Target::File, Target::FileOverwrite, Target::Pipe);
    for (call, cell, refused) in [
        (libc::SYS_writev, write(file), "writev"),
        (libc::SYS_writev, write(pipe), "writev"),
        (libc::SYS_writev, write(Target::Unix), "writev"),
        (libc::SYS_io_uring_setup, write(file), "io-uring"),
        (libc::SYS_io_uring_enter, write(file), "io-uring"),
        (libc::SYS_io_setup, write(file), "linux-aio"),
        (libc::SYS_readv, read, "readv"),
        (
            libc::SYS_copy_file_range,
            copy(overwritten),
            "copy-file-range",
        ),
        (libc::SYS_sendfile, copy(overwritten), "sendfile"),
        (libc::SYS_splice, copy(pipe), "splice"),
    ] {
        let refused = TechniqueName::new(refused);
        let mut rivals = techniques(cell.conditions.operation, true);
        rivals.retain(|rival| *rival != TechniqueName::ADAPTIVE && *rival != refused);
        rivals.push(refused);
        for errno in [libc::EPERM, libc::ENOSYS] {
            let what = format!("{refused} on {}: {errno}", cell.conditions.place());
            let outcome = measured((call, errno), cell.clone(), rivals.clone());
            let outcome = outcome.unwrap_or_else(|failed| panic!("{what}: {}", failed.error));
            let cell = &outcome.cells[0];
            let all: Vec<TechniqueName> = cell.refused.iter().map(|one| one.technique).collect();
            assert_eq!(all, [refused], "{what}");
            assert!(
                cell.technique(refused).is_none() && cell.rounds > 0,
                "{what}"
            );
            assert!(cell.techniques.len() >= 2, "{what}");
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
        "{failed:?}"
    );
    let text = failed.error.to_string();
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
