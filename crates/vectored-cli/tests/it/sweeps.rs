//! `measure` with a mix with one size that varies, and with `--join`.

use serde_json::{Value, json};

use crate::support::{Bench, json as parsed, stdout_of};

#[test]
fn cells_and_crossovers_name_their_mix() {
    let bench = Bench::new();
    let words = "--mix 1x150,1x16..64KiB --mix 9x16,1x4KiB --target pipe";
    stdout_of(&mut bench.synthetic_with(words));
    let results = bench.only_result();
    let swept = |list: &str| {
        let cells = results[list].as_array().unwrap().iter();
        cells.map(|one| one["swept_mix"].clone())
    };
    let mix = json!([[1, 150], [1, null]]);
    // A fixed mix is in no sweep.
    assert!(swept("cells").eq([vec![mix.clone(); 7], vec![Value::Null]].concat()));
    // Sizes in between are of the same mix, and so is the crossover.
    for list in ["refined_cells", "crossovers"] {
        assert!(
            swept(list).count() > 0 && swept(list).all(|one| one == mix),
            "{list}"
        );
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
