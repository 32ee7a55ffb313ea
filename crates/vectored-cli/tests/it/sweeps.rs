//! `measure` with a mix of which one size is varied, and with `--join`.

use serde_json::{Value, json};

use crate::support::{Bench, entries, json as parsed, stdout_of};

#[test]
fn the_table_of_a_swept_mix() {
    let bench = Bench::new();
    let mut command =
        bench.synthetic_with("--mix 1x150,1x16..64KiB --mix 9x16,1x4KiB --target pipe");
    insta::assert_snapshot!(stdout_of(&mut command));
    let results = bench.only_result();
    let cells = results["cells"].as_array().unwrap();
    let mix = json!([[1, 150], [1, null]]);
    for (cell, bytes) in std::iter::zip(cells, [16, 64, 256, 1024, 4096, 16384, 65536]) {
        assert_eq!(cell["segment_count"], 2);
        assert_eq!(cell["segment_bytes"], Value::Null);
        assert_eq!(cell["segment_sizes"], json!([[1, 150], [1, bytes]]));
        assert_eq!(cell["swept_mix"], mix);
    }
    // A fixed mix is in no sweep.
    assert_eq!(cells.len(), 8);
    assert_eq!(cells[7]["swept_mix"], Value::Null);
    // Sizes in between are of the same mix, and so is the crossover.
    for list in ["refined_cells", "crossovers"] {
        let entries = results[list].as_array().unwrap();
        assert!(!entries.is_empty(), "{list}");
        assert!(
            entries.iter().all(|entry| entry["swept_mix"] == mix),
            "{list}"
        );
    }
}

#[test]
fn the_table_of_joined_messages() {
    let bench = Bench::new();
    insta::assert_snapshot!(stdout_of(
        &mut bench.synthetic_with("--join 2,16 --target tcp")
    ));
    let results = bench.only_result();
    assert_eq!(results["rivals"], json!(["write-each", "copy-then-write"]));
    let names = |cell: &Value| -> Vec<String> {
        let techniques = cell["techniques"].as_array().unwrap().iter();
        let names = techniques.map(|technique| technique["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    };
    let expected = ["write-each", "copy-then-write", "writev", "adaptive"];
    let cells = results["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 12);
    assert!(cells.iter().all(|cell| names(cell) == expected));
    for crossover in results["crossovers"].as_array().unwrap() {
        assert_eq!(crossover["below"], "copy-then-write");
        assert_eq!(crossover["above"], "write-each");
    }
}

#[test]
fn joining_is_the_grid_of_segments_with_two_rivals() {
    let measured = |words: &str| {
        let bench = Bench::new();
        let mut command = bench.synthetic_with("--target unix --format json --sizes 64,32KiB");
        let results = parsed(&stdout_of(command.args(words.split(' '))));
        let lists = results["cells"].as_array().unwrap().iter();
        let lists = lists.map(|cell| json!([cell["segment_count"], cell["segment_bytes"]]));
        (lists.collect::<Vec<Value>>(), results["rivals"].clone())
    };
    let as_grid = "--segments 2..20 --technique write-each,copy-then-write";
    assert_eq!(measured("--join 2..20"), measured(as_grid));
}

#[test]
fn real_runs_sweep_a_mix_and_join_messages_from_cold_memory() {
    let measured = |words: &str| {
        let bench = Bench::new();
        let words = format!("measure --target unix --budget 700ms {words}");
        bench.command(&words).assert().success();
        assert!(entries(&bench.work()).is_empty());
        bench.only_result()
    };
    // A slow machine has no time for each cell, but for one.
    let swept = measured("--mix 1x150,1x64..1KiB,2x16");
    let [cells, left_out] = ["cells", "left_out"].map(|list| swept[list].as_array().unwrap());
    assert_eq!(cells.len() + left_out.len(), 3);
    for cell in cells {
        assert_eq!(cell["swept_mix"], json!([[1, 150], [1, null], [2, 16]]));
        assert!(cell["proof_calls"].as_u64().unwrap() > 0);
    }
    let joined = measured("--join 4 --sizes 4KiB --cache cold");
    let cell = &joined["cells"][0];
    assert_eq!(cell["cache"], "cold");
    assert!(cell["proof_calls"].as_u64().unwrap() > 0);
}
