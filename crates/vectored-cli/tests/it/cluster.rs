//! Started by `mpirun` or `srun`: without the feature `mpi` that is refused. With it, `cargo xtask cluster` tests it.

use std::path::PathBuf;

use crate::support::{Bench, refused};

#[test]
#[cfg(not(feature = "mpi"))]
fn one_of_several_ranks_is_refused_without_mpi_and_rank_0_alone_says_so() {
    for (size, rank) in [
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        ("PMI_SIZE", "PMI_RANK"),
        ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ] {
        for words in [
            &["measure", "--target", "null"][..],
            &["measure", "--each-node"],
            &["advise", "--merge-ranks", "log"],
        ] {
            let bench = Bench::new();
            let run = |number: &str| {
                let mut command = bench.vectored();
                command.args(words).env(size, "4").env(rank, number);
                let output = command.assert().code(2).get_output().clone();
                assert!(output.stdout.is_empty());
                String::from_utf8(output.stderr).unwrap()
            };
            let first = run("0");
            for expected in [
                "one of 4 processes",
                size,
                "--features mpi",
                "without mpirun",
            ] {
                assert!(
                    first.contains(expected),
                    "{words:?} lacks {expected:?}: {first}"
                );
            }
            assert_eq!(run("3"), "", "{words:?}");
            assert_eq!(bench.saved(), Vec::<PathBuf>::new());
        }
    }
}

#[test]
fn a_single_rank_is_an_ordinary_run() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--target", "null", "--budget", "1s"]);
    command
        .env("OMPI_COMM_WORLD_SIZE", "1")
        .env("OMPI_COMM_WORLD_RANK", "0");
    command.assert().success();
    assert_eq!(bench.only_result()["ranks"], serde_json::json!([]));
}

#[test]
fn a_node_alone_is_measured_and_saved_in_a_directory() {
    let bench = Bench::new();
    let mut command = bench.synthetic();
    command.args(["--target", "null", "--budget", "1s", "--each-node"]);
    let output = command.assert().success().get_output().clone();
    assert!(String::from_utf8(output.stdout).unwrap().contains("null"));
    let saved = bench.saved();
    assert_eq!(saved.len(), 1, "{saved:?}");
    let files = crate::support::entries(&saved[0]);
    assert_eq!(files.len(), 1, "{files:?}");
    let path = String::from_utf8(output.stderr).unwrap();
    assert_eq!(path.lines().last(), saved[0].to_str());
    let mut compare = bench.vectored();
    compare.args(["compare", "--machines"]).args(&files);
    compare.assert().success();
}

#[test]
fn options_of_ranks_need_ranks_and_exclude_each_other() {
    let bench = Bench::new();
    refused(&bench, &["--ranks", "1,2"], 2, &["--ranks", "mpirun"]);
    refused(
        &bench,
        &["--ranks", "2", "--each-node"],
        2,
        &["--each-node", "--ranks", "omit one"],
    );
    refused(
        &bench,
        &["--each-node", "--format", "json"],
        2,
        &["--format json", "table, csv"],
    );
}
