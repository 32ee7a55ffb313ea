//! Extracts of results: what is in them, and what never is.

use serde_json::Value;
use vectored_lab::model::{
    Advice, AsynchronousAdvice, Cell, Conditions, Crossover, DeviceKind, DirectoryInfo, Drain,
    FittedModel, LeftOut, Machine, ModelSource, Rank, Results, Target, Technique, Verdict,
    Virtualization, WriterAdvice,
};
use vectored_lab::report::fleet::{
    compare_with, extract, fleet_csv, fleet_json, fleet_markdown, fleet_table, known_machines,
    machine_json, parse_machine, parse_machine_or_result,
};
use vectored_lab::report::{self, fleet_html, json};

use crate::report::{cell, results, technique};
use Technique::{CopyThenWrite, WriteEach, Writev};

/// A crossover on a target without a path.
fn crossover(target: Target, count: usize, at_bytes: f64) -> Crossover {
    Crossover {
        conditions: Conditions {
            target,
            path: None,
            operation: Default::default(),
            layout: Default::default(),
            cache: Default::default(),
            page_cache: None,
            iovec_setup: Default::default(),
            sync: Default::default(),
            drain: None,
            queue_depth: 1,
            writers: None,
            direct: false,
            ranks: None,
        },
        segment_count: count,
        swept_mix: None,
        below: CopyThenWrite,
        above: Writev,
        at_bytes,
        low_bytes: 0.9 * at_bytes,
        high_bytes: 1.1 * at_bytes,
        tie_low_bytes: 0.95 * at_bytes,
        tie_high_bytes: 1.05 * at_bytes,
    }
}

fn winner(target: Target, bytes: usize, name: Technique) -> Cell {
    let loser = if name == Writev {
        CopyThenWrite
    } else {
        Writev
    };
    let techniques = vec![
        technique(WriteEach, 3.0, 3.6, Some((3.5, 3.7))),
        technique(name, 0.1, 1.0, Some((1.0, 1.0))),
        technique(loser, 0.3, 1.18, Some((1.16, 1.2))),
    ];
    cell(target, bytes, Verdict::Faster, techniques)
}

/// A run on this processor, with a crossover on `unix` and one on a file.
fn run(model: &str, kernel: &str, unix_bytes: f64) -> Results {
    let mut run = results();
    run.host.cpu.model = model.to_owned();
    run.host.cpu.l2_bytes = Some(1 << 20);
    run.host.kernel = kernel.to_owned();
    run.started_at = "2026-11-24T14:00:00Z".to_owned();
    run.cells = [Target::File, Target::Unix]
        .into_iter()
        .flat_map(|target| {
            [(16, CopyThenWrite), (65_536, Writev)].map(|(bytes, name)| winner(target, bytes, name))
        })
        .collect();
    for cell in run
        .cells
        .iter_mut()
        .filter(|cell| cell.target == Target::File)
    {
        cell.file_system = Some("ext4".to_owned());
    }
    run.crossovers = vec![
        crossover(Target::File, 1000, 1000.0),
        crossover(Target::Unix, 1000, unix_bytes),
    ];
    if let Some(directory) = &mut run.host.directory {
        directory.device = Some(DeviceKind::Ssd);
    }
    run.left_out = Vec::new();
    run
}

fn machines() -> Vec<Machine> {
    let mut third = run(
        "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
        "6.9.1",
        3000.0,
    );
    third.host.virtualization = None;
    for cell in &mut third.cells {
        cell.winner = Some(Writev);
    }
    third
        .crossovers
        .retain(|one| one.conditions.target == Target::Unix);
    let runs = [
        run("AMD EPYC 9R14", "6.18.44-acme", 1500.0),
        third,
        run("AMD EPYC 9R14", "6.9.1-acme", 2000.0),
    ];
    runs.iter().map(|run| extract(run).machine).collect()
}

/// Every text of a value, replaced by `replace`.
fn replace_texts(value: &mut Value, path: &str, replace: &dyn Fn(&str, &str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = replace(path, text) {
                *text = other;
            }
        }
        Value::Array(all) => {
            for one in all {
                replace_texts(one, path, replace);
            }
        }
        Value::Object(fields) => {
            for (name, one) in fields {
                replace_texts(one, &format!("{path}.{name}"), replace);
            }
        }
        _ => {}
    }
}

#[test]
fn no_text_of_a_result_is_in_its_extract() {
    let mut run = run("AMD EPYC 9R14", "6.18.44", 1500.0);
    run.cells[0].path = Some("/home/x".to_owned());
    run.cells.push(Cell {
        path: Some("tcp://10.1.2.3:99".to_owned()),
        ..winner(Target::Remote, 16, Writev)
    });
    run.host.directory = Some(DirectoryInfo {
        path: "/srv".to_owned(),
        file_system: "ext4".to_owned(),
        mount_options: Some("rw".to_owned()),
        device: Some(DeviceKind::Ssd),
        ..DirectoryInfo::default()
    });
    run.host.cpu.governor = Some("performance".to_owned());
    run.host.cpu.mitigations = vec![("a".to_owned(), "b".to_owned())];
    run.host.clock_source = Some("tsc".to_owned());
    run.left_out = vec![LeftOut {
        target: Target::File,
        path: Some("/x".to_owned()),
        segment_sizes: vec![(1, 1)],
        reason: "no room".to_owned(),
    }];
    let conditions = Conditions {
        path: Some("/home/x".to_owned()),
        ..run.crossovers[0].conditions.clone()
    };
    run.advice = vec![Advice {
        conditions: conditions.clone(),
        segment_count: 1000,
        swept_mix: None,
        text: "Copy.".to_owned(),
    }];
    run.asynchronous = vec![AsynchronousAdvice {
        conditions: conditions.clone(),
        queue_depths: vec![1],
        technique: Technique::IoUring,
        synchronous: Writev,
        text: "No.".to_owned(),
    }];
    run.writer_advice = vec![WriterAdvice {
        conditions: conditions.clone(),
        writer_counts: vec![1],
        text: "No.".to_owned(),
    }];
    let model = vectored::CostModel::default();
    run.cost_models = vec![FittedModel::new(
        conditions.clone(),
        ModelSource::Cells,
        &model,
    )];
    run.machine_comparisons = compare_with(&run, &machines());
    run.crossovers[0].conditions = conditions;
    assert!(!run.machine_comparisons.is_empty());
    let plain: Value = serde_json::from_str(&json(&run)).unwrap();
    // Texts that have to be one of a few words cannot hold a secret: a result with another one is not read.
    let mut secrets = 0;
    for secret in [
        "SECRET",
        "AMD EPYC SECRET",
        "SECRET SECRET",
        "/SECRET",
        "ext4.SECRET",
        "6.18-SECRET",
        "SECRET 7",
    ] {
        let mut paths = Vec::new();
        replace_texts(&mut plain.clone(), "", &{
            let paths = std::cell::RefCell::new(&mut paths);
            move |path, _| {
                paths.borrow_mut().push(path.to_owned());
                None
            }
        });
        paths.sort();
        paths.dedup();
        let mut marked = plain.clone();
        for path in &paths {
            let mut one = marked.clone();
            let mark = |here: &str, _: &str| (here == path).then(|| secret.to_owned());
            replace_texts(&mut one, "", &mark);
            if report::parse(&one.to_string()).is_ok() {
                marked = one;
                secrets += 1;
            }
        }
        let marked = report::parse(&marked.to_string()).unwrap();
        assert!(json(&marked).matches("SECRET").count() > 20);
        let text = machine_json(&extract(&marked).machine);
        assert!(!text.contains("SECRET"), "{secret:?} is in\n{text}");
        assert!(!fleet_html(&[extract(&marked).machine]).contains("SECRET"));
    }
    // Names of the host, of paths, options, times, versions, reasons, warnings, mitigations.
    assert!(secrets >= 7 * 18, "{secrets} texts were marked");
}

#[test]
fn an_extract_has_the_type_of_the_machine_and_what_was_found() {
    let run = run(
        "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
        "6.18.44-acme #1",
        1500.0,
    );
    let extract = extract(&run);
    assert_eq!(extract.left_out_cells, 0);
    let kind = &extract.machine.kind;
    assert_eq!(kind.processor, "Intel Xeon Platinum 8375C CPU 2.90GHz");
    assert_eq!(
        (kind.cpus, &*kind.kernel, &*kind.system),
        (2, "6.18.44", "Linux")
    );
    assert_eq!(kind.virtualization, Some(Virtualization::VirtualMachine));
    let [file, unix] = &extract.machine.groups[..] else {
        panic!("{:?}", extract.machine.groups)
    };
    assert_eq!(file.file_system.as_deref(), Some("ext4"));
    assert_eq!((file.device, unix.device), (Some(DeviceKind::Ssd), None));
    assert_eq!(unix.crossovers[0].at_bytes, 1500.0);
    assert_eq!(unix.cells[1].winner, Some(Writev));
    assert_eq!(unix.cells[1].margin, Some([1.18, 1.16, 1.2]));
    assert_eq!(unix.cells[1].floor_ratios[&Writev], [1.1, 1.078, 1.122]);
    insta::assert_snapshot!(machine_json(&extract.machine));
}

#[test]
fn cells_that_another_program_decides_are_left_out() {
    let mut run = run("AMD EPYC 9R14", "6.18.44", 1500.0);
    for target in [Target::Remote, Target::Socket, Target::Device, Target::Fifo] {
        run.cells.push(winner(target, 16, Writev));
    }
    let extract = extract(&run);
    assert_eq!(extract.left_out_cells, 4);
    assert_eq!(extract.machine.groups.len(), 2);
}

#[test]
fn files_in_two_directories_are_two_groups_on_unknown_devices() {
    let mut run = run("AMD EPYC 9R14", "6.18.44", 1500.0);
    run.cells.push(Cell {
        path: Some("/mnt/x".to_owned()),
        file_system: Some("xfs".to_owned()),
        ..winner(Target::File, 16, Writev)
    });
    let groups = extract(&run).machine.groups;
    let of_file: Vec<_> = groups
        .iter()
        .filter(|group| group.conditions.target == Target::File)
        .map(|group| {
            (
                group.file_system.as_deref(),
                group.device,
                group.cells.len(),
            )
        })
        .collect();
    assert_eq!(of_file, [(Some("ext4"), None, 2), (Some("xfs"), None, 1)]);
}

#[test]
fn an_extract_is_read_as_it_was_written() {
    for machine in machines() {
        assert_eq!(parse_machine(&machine_json(&machine)).unwrap(), machine);
        assert_eq!(
            parse_machine_or_result(&machine_json(&machine))
                .unwrap()
                .machine,
            machine
        );
    }
    let run = run("AMD EPYC 9R14", "6.18.44", 1500.0);
    assert_eq!(parse_machine_or_result(&json(&run)).unwrap(), extract(&run));
    let of_another = report::parse_saved(&machine_json(&machines()[0])).unwrap_err();
    assert!(
        of_another.to_string().contains("compare --machines"),
        "{of_another}"
    );
}

#[test]
fn a_damaged_extract_is_refused() {
    let mut sound = run("AMD EPYC 9R14", "6.18.44", 1500.0);
    let model = vectored::CostModel::default();
    let conditions = sound.crossovers[0].conditions.clone();
    sound.cost_models = vec![FittedModel::new(conditions, ModelSource::Cells, &model)];
    let sound = machine_json(&extract(&sound).machine);
    assert!(parse_machine(&sound).is_ok());
    let refused = |damage: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&sound).unwrap();
        damage(&mut value);
        parse_machine(&value.to_string()).unwrap_err().to_string()
    };
    let expect = |field: &str, words: &str, damage: &dyn Fn(&mut Value)| {
        let error = refused(damage);
        assert!(error.contains(words), "{field}: {error}");
    };
    expect("schema", "unknown schema", &|v| {
        v["schema"] = "vectored-machine/2".into();
    });
    expect("processor", "no name of a type", &|v| {
        v["machine"]["processor"] = "\u{1b}[2J".into();
    });
    expect("kernel", "no name of a type", &|v| {
        v["machine"]["kernel"] = "6".repeat(101).into();
    });
    expect("cpus", "no CPU", &|v| v["machine"]["cpus"] = 0.into());
    expect("file system", "no name of a type", &|v| {
        v["groups"][0]["file_system"] = "".into();
    });
    expect("target", "damaged", &|v| {
        v["groups"][0]["target"] = "tape".into();
    });
    expect("ratio", "not a positive number", &|v| {
        v["groups"][0]["cells"][0]["floor_ratios"]["writev"][0] = (-1.0).into();
    });
    expect("winner", "winner", &|v| {
        v["groups"][0]["cells"][0]["verdict"] = "tie".into();
    });
    expect("sizes", "0 bytes", &|v| {
        v["groups"][0]["cells"][0]["segment_bytes"] = 0.into();
    });
    expect("list", "no list", &|v| {
        v["groups"][0]["cells"][0]
            .as_object_mut()
            .unwrap()
            .remove("segment_bytes");
    });
    expect("crossover", "not a positive number", &|v| {
        v["groups"][0]["crossovers"][0]["at_bytes"] = 0.into();
    });
    for (end, bytes) in [("low_bytes", 1001), ("high_bytes", 999)] {
        expect(end, "outside of its interval", &|v| {
            v["groups"][0]["crossovers"][0][end] = bytes.into();
        });
    }
    expect("crossover", "0 segments", &|v| {
        v["groups"][0]["crossovers"][0]["segment_count"] = 0.into();
    });
    expect("crossover", "from writev to itself", &|v| {
        v["groups"][0]["crossovers"][0]["below"] = "writev".into();
    });
    for ratio in [0.9, 1.3] {
        expect("ratio", "outside of its interval", &|v| {
            v["groups"][0]["cells"][0]["floor_ratios"]["writev"] = vec![ratio, 1.0, 1.2].into();
        });
        expect("margin", "outside of its interval", &|v| {
            v["groups"][0]["cells"][0]["margin"] = vec![ratio, 1.0, 1.2].into();
        });
    }
    expect("rounds", "without a round", &|v| {
        v["groups"][0]["cells"][0]["rounds"] = 0.into();
    });
    expect("noise floor", "noise floor", &|v| {
        v["groups"][0]["cells"][0]["noise_floor"] = (-0.1).into();
    });
    expect("cost", "a cost that is negative", &|v| {
        v["groups"][0]["cost_models"][0]["call_ns"] = (-1).into();
    });
    expect("queue depth", "queue depth of 0", &|v| {
        v["groups"][0]["queue_depth"] = 0.into();
    });
    expect("writers", "number of writers of 0", &|v| {
        v["groups"][0]["writers"] =
            serde_json::json!({"count": 0, "kind": "threads", "targets": "own"});
    });
    expect("ranks", "number of ranks of 0", &|v| {
        v["groups"][0]["ranks"] = 0.into();
    });
}

/// Ranks on nodes with these processors.
fn ranks_on(processors: &[&str]) -> Vec<Rank> {
    let rank = |(rank, cpu): (u32, &&str)| Rank {
        rank,
        cpu: (*cpu).to_owned(),
        kernel: "6.18.44".to_owned(),
        ..Rank::default()
    };
    (0..).zip(processors).map(rank).collect()
}

#[test]
fn cells_of_ranks_on_machines_of_several_types_are_left_out() {
    let extract_of = |processors: &[&str], count| {
        let mut run = run("AMD EPYC 9R14", "6.18.44", 1500.0);
        run.ranks = ranks_on(processors);
        for cell in run
            .cells
            .iter_mut()
            .filter(|cell| cell.target == Target::Unix)
        {
            cell.ranks = Some(count);
        }
        run.crossovers[1].conditions.ranks = Some(count);
        extract(&run)
    };
    let (epyc, xeon) = ("AMD EPYC 9R14", "Intel Xeon 8375C");
    let mixed = extract_of(&[epyc, epyc, xeon], 3);
    assert_eq!((mixed.mixed_cells, mixed.left_out_cells), (2, 0));
    assert_eq!(
        mixed.left_out_in_words(),
        ["left out: 2 cells of ranks whose machines are of several types"]
    );
    let targets = mixed
        .machine
        .groups
        .iter()
        .map(|group| group.conditions.target);
    assert_eq!(targets.collect::<Vec<_>>(), [Target::File]);
    // The third rank had no part in these cells.
    let first_two = extract_of(&[epyc, epyc, xeon], 2);
    assert_eq!(
        (first_two.mixed_cells, first_two.machine.groups.len()),
        (0, 2)
    );
    let alike = extract_of(&[epyc; 3], 3);
    assert_eq!((alike.mixed_cells, alike.machine.groups.len()), (0, 2));
}

#[test]
fn machines_are_shown_by_processor_kernel_and_file_system() {
    let machines = machines();
    insta::assert_snapshot!("fleet_table", fleet_table(&machines, 100));
    insta::assert_snapshot!("fleet_markdown", fleet_markdown(&machines));
    insta::assert_snapshot!("fleet_csv", fleet_csv(&machines));
    let mut others = machines.clone();
    for group in &mut others[0].groups {
        (group.conditions.direct, group.conditions.ranks) = (true, Some(4));
    }
    let csv = fleet_csv(&others);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let column = |name| heads.iter().position(|head| *head == name).unwrap();
    let of_ranks =
        lines.filter(|line| line[column("direct")] == "true" && line[column("ranks")] == "4");
    assert!(of_ranks.count() > 0, "{csv}");
    let all: Value = serde_json::from_str(&fleet_json(&machines)).unwrap();
    assert_eq!(all["schema"], "vectored-machines/1");
    let first = parse_machine(&all["machines"][0].to_string()).unwrap();
    assert_eq!(first, machines[0]);
    // The style is that of every page.
    let page = fleet_html(&machines);
    let (_, body) = page.split_once("<body>").unwrap();
    insta::assert_snapshot!("fleet_page", body);
}

#[test]
fn a_crossover_stands_beside_those_of_other_processors_and_of_its_own() {
    let here = run("AMD EPYC 9R14", "6.18.44", 1000.0);
    let texts = |known: &[Machine]| -> Vec<String> {
        compare_with(&here, known)
            .into_iter()
            .map(|one| one.text)
            .collect()
    };
    let [file, unix] = &texts(&machines())[..] else {
        panic!("two crossovers are compared")
    };
    assert_eq!(
        file,
        "file (ext4), 1000 segments: copy below 0.98 KiB here; below 0.98 KiB in 2 results of this type of processor; no \
         such crossover in 1 result of another type."
    );
    assert_eq!(
        unix,
        "unix, 1000 segments: copy below 0.98 KiB here; below 1.46 to 1.95 KiB in 2 results of this type of processor; \
         below 2.93 KiB in 1 result of another type."
    );
    assert_eq!(texts(&[]), Vec::<String>::new());
    // Its own type is never another one.
    let own = extract(&here).machine;
    let compared = compare_with(&here, &[own]);
    assert!(compared.iter().all(|one| one.other_processors.results == 0));
    assert!(
        compared
            .iter()
            .all(|one| !one.text.contains("another") && !one.text.contains("other types")),
        "{compared:?}"
    );
    // Without a name it may be of this type.
    let mut unknown = machines().remove(1);
    unknown.kind.processor = "unknown".to_owned();
    assert_eq!(texts(&[unknown]), Vec::<String>::new());
    // Sizes that end before the crossover here tell nothing about it.
    let mut known = machines();
    for group in &mut known[1].groups {
        group.crossovers.clear();
        group.cells.truncate(1);
    }
    let unix = &texts(&known)[1];
    assert!(
        unix.ends_with("below 1.46 to 1.95 KiB in 2 results of this type of processor."),
        "{unix}"
    );
    // A file system of a type that is not known is the same as no other one.
    let mut elsewhere = run("AMD EPYC 9R14", "6.18.44", 1000.0);
    let mut known = machines();
    for (here, there) in [("secretfs", "other"), ("fuse.secretfs", "fuse")] {
        for cell in elsewhere
            .cells
            .iter_mut()
            .filter(|cell| cell.target == Target::File)
        {
            cell.file_system = Some(here.to_owned());
        }
        for group in known.iter_mut().flat_map(|machine| &mut machine.groups) {
            group.file_system = group.file_system.as_ref().map(|_| there.to_owned());
        }
        let compared = compare_with(&elsewhere, &known);
        let targets: Vec<Target> = compared.iter().map(|one| one.conditions.target).collect();
        assert_eq!(targets, [Target::Unix], "{here}");
    }
    // Other conditions are not compared.
    let mut elsewhere = machines();
    for group in elsewhere.iter_mut().flat_map(|machine| &mut machine.groups) {
        group.conditions.drain = Some(Drain::ReaderThread);
    }
    assert_eq!(texts(&elsewhere), Vec::<String>::new());
}

#[test]
fn the_extracts_of_the_project_are_built_in() {
    let known = known_machines();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let [built_in, documented] = [folder.join("machines"), folder.join("../../docs/machines")];
    let read = |folder: &std::path::Path| {
        let files = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .map(|path| {
                (
                    path.file_name().unwrap().to_owned(),
                    std::fs::read_to_string(path).unwrap(),
                )
            })
            .collect();
        files.sort();
        files
    };
    let files = read(&built_in);
    let machines: Vec<Machine> = files
        .iter()
        .map(|(_, text)| parse_machine(text).unwrap())
        .collect();
    assert!(
        machines == known,
        "known.rs names the files of {}, by name",
        built_in.display()
    );
    // A published crate has no docs.
    if documented.exists() {
        assert_eq!(
            read(&documented),
            files,
            "copy docs/machines/*.json to crates/vectored-lab/machines"
        );
    }
}
