//! Runs the fuzz targets on their seeds and on random inputs, without a fuzzer.

use std::fs;
use std::path::Path;

use vectored_conformance::fuzz;

fn every_seed(target: &str, run: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut count = 0;
    for entry in fs::read_dir(root.join(target)).unwrap() {
        run(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0, "no seeds of {target}");
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..400 {
        let bytes: Vec<u8> = (0..rng.usize(..300)).map(|_| rng.u8(..)).collect();
        run(&bytes);
    }
}

#[test]
fn the_seeds_of_the_cursor_pass() {
    every_seed("cursor", fuzz::cursor);
}

#[test]
fn the_seeds_of_the_plan_pass() {
    every_seed("plan", fuzz::plan);
}

#[test]
fn the_seeds_of_the_read_plan_pass() {
    every_seed("read_plan", fuzz::read_plan);
}

#[test]
fn the_seeds_of_the_queue_pass() {
    every_seed("queue", fuzz::queue);
}
