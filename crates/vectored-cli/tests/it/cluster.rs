//! Tests of a program that `mpirun` or `srun` starts without the feature `mpi`. `cargo xtask cluster` tests the
//! feature.

use crate::support::{Bench, said_by};

#[test]
#[cfg(not(feature = "mpi"))]
fn one_of_several_ranks_is_refused_without_mpi_and_rank_0_alone_says_so() {
    for (size, rank, words, remedy) in [
        (
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_RANK",
            "measure",
            "--features mpi",
        ),
        (
            "PMI_SIZE",
            "PMI_RANK",
            "reproduce mincer --quick",
            "start it once",
        ),
        (
            "SLURM_STEP_NUM_TASKS",
            "SLURM_PROCID",
            "measure --target null",
            "start it once",
        ),
    ] {
        let bench = Bench::new();
        let run = |number: &str, words: &str| {
            let mut command = bench.command(words);
            command.env(size, "4").env(rank, number);
            let (stdout, stderr) = said_by(&mut command, 2);
            assert_eq!(stdout, "");
            stderr
        };
        let first = run("0", words);
        for expected in ["one of 4 processes", size, remedy, "without mpirun"] {
            assert!(first.contains(expected), "no {expected:?} in: {first}");
        }
        for words in [words, "reproduce --no-such-option"] {
            assert_eq!(run("3", words), "");
        }
        assert!(bench.saved().is_empty());
    }
}

#[test]
fn one_rank_alone_is_an_ordinary_run() {
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
fn each_of_several_processes_that_work_for_themselves_says_why_it_failed() {
    let bench = Bench::new();
    for words in [&["report", "none.json"][..], &["report", "--no-such"]] {
        let mut command = bench.vectored();
        command
            .args(words)
            .env("PMI_SIZE", "4")
            .env("PMI_RANK", "3");
        let output = command.assert().failure().get_output().clone();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(words[1]), "{message:?}");
    }
}
