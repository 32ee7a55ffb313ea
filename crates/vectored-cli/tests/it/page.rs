//! The page, in a browser.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::browser::Browser;
use crate::support::{Bench, json, skip};

/// A browser, or a reported skip.
pub fn browser(test: &str) -> Option<Browser> {
    match Browser::start() {
        Ok(browser) => Some(browser),
        Err(reason) => {
            skip(test, &reason);
            None
        }
    }
}

/// Writes a page of these results; its path.
fn page_of(bench: &Bench, results: &[&str]) -> PathBuf {
    let page = bench.work().join("page.html");
    let mut command = bench.vectored();
    command.arg("report").args(results).arg("--html").arg(&page);
    command.assert().success();
    page
}

fn cell<'a>(results: &'a Value, target: &str, count: u64, bytes: u64) -> &'a Value {
    let all = ["cells", "refined_cells"].map(|list| results[list].as_array().unwrap());
    let is_it = |cell: &&Value| {
        cell["target"] == target && cell["segment_count"] == count && cell["segment_bytes"] == bytes
    };
    all.into_iter()
        .flatten()
        .find(is_it)
        .unwrap_or_else(|| panic!("{target} {count} × {bytes}"))
}

/// The sizes that were measured, in order.
fn sizes(results: &Value, target: &str, count: u64) -> Vec<u64> {
    let all = ["cells", "refined_cells"].map(|list| results[list].as_array().unwrap());
    let mut sizes: Vec<u64> = all
        .into_iter()
        .flatten()
        .filter(|cell| cell["target"] == target && cell["segment_count"] == count)
        .filter_map(|cell| cell["segment_bytes"].as_u64())
        .collect();
    sizes.sort_unstable();
    sizes
}

/// Compares the readout under the first chart with the JSON.
fn readout_equals(browser: &mut Browser, results: &Value, target: &str, count: u64) {
    let figure = "document.querySelector('.panel:not([hidden]) figure.chart')";
    let bytes = browser.text(&format!(
        "{figure}.querySelector('.readout').dataset.bytes || ''"
    ));
    let bytes: u64 = bytes.parse().expect("a size is pointed at");
    let cell = cell(results, target, count, bytes);
    let techniques = cell["techniques"].as_array().unwrap();
    assert_eq!(techniques.len(), 4);
    for technique in techniques {
        let name = technique["name"].as_str().unwrap();
        let shown = browser.text(&format!(
            "{figure}.querySelector('[data-technique=\"{name}\"] td').textContent"
        ));
        // ×1.234 [1.200, 1.300]
        let numbers: Vec<f64> = shown
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .filter_map(|word| word.parse().ok())
            .collect();
        let fields = ["floor_ratio", "floor_ratio_low", "floor_ratio_high"];
        let expected: Vec<f64> = fields
            .iter()
            .filter_map(|f| technique[f].as_f64())
            .collect();
        assert_eq!(numbers.len(), expected.len(), "{name}: {shown}");
        for (number, expected) in std::iter::zip(numbers, expected) {
            let close = (number - expected).abs() <= 6e-4 + 1e-4 * expected;
            assert!(close, "{name} at {bytes} B: {shown}, not {expected}");
        }
    }
}

#[test]
fn a_page_of_a_real_run_shows_what_its_json_has() {
    let test = "a_page_of_a_real_run_shows_what_its_json_has";
    let Some(mut browser) = browser(test) else {
        return;
    };
    let bench = Bench::new();
    let mut measure = bench.vectored();
    measure.args([
        "measure",
        "--target",
        "pipe,unix",
        "--segments",
        "2,16",
        "--budget",
        "3s",
    ]);
    measure
        .args(["--sizes", "16..4KiB", "--quiet"])
        .assert()
        .success();
    let results = bench.only_result();
    let page = page_of(&bench, &["latest"]);
    browser.open(&page);

    // The map names the winners.
    for square in browser.value("[...document.querySelectorAll('#panel-0-0 table.map button')].map(b => [b.dataset.cell, b.parentElement.className, b.textContent])").as_array().unwrap() {
        let index: usize = square[0].as_str().unwrap().parse().unwrap();
        let cell = &results["cells"][index];
        let class = square[1].as_str().unwrap();
        assert!(class.starts_with(cell["verdict"].as_str().unwrap()), "{square}: {cell}");
        if let Some(winner) = cell["winner"].as_str() {
            assert!(class.ends_with(&format!("t-{winner}")), "{square}");
        }
    }

    // Hovering shows values.
    let over = "document.querySelector('.panel:not([hidden]) figure.chart .u-over')";
    browser.value(&format!("{over}.scrollIntoView({{block: 'center'}})"));
    let place = browser.value(&format!(
        "(() => {{ const r = {over}.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})()"
    ));
    let place: Vec<f64> = place
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    for share in [0.04, 0.5, 0.96] {
        browser.point(
            place[0] + share * place[2],
            place[1] + place[3] / 2.0,
            false,
        );
        readout_equals(&mut browser, &results, "pipe", 2);
    }

    // So do keys.
    browser.value("document.querySelector('.panel:not([hidden]) figure.chart .plot').focus()");
    browser.key("ArrowRight");
    browser.key("ArrowRight");
    let pointed_at =
        browser.text("document.querySelector('.panel:not([hidden]) .readout').dataset.bytes");
    assert_eq!(pointed_at, sizes(&results, "pipe", 2)[1].to_string());
    readout_equals(&mut browser, &results, "pipe", 2);

    // Another target.
    browser.click("#tab-0-1");
    assert_eq!(
        browser.value("document.getElementById('panel-0-0').hidden"),
        true
    );
    assert_eq!(
        browser.value("document.getElementById('panel-0-1').hidden"),
        false
    );
    browser.value("document.querySelector('#panel-0-1 figure.chart .plot').focus()");
    browser.key("ArrowRight");
    readout_equals(&mut browser, &results, "unix", 2);
    browser.value("document.getElementById('tab-0-1').focus()");
    browser.key("ArrowLeft");
    assert_eq!(browser.text("document.activeElement.id"), "tab-0-0");
    assert_eq!(
        browser.value("document.getElementById('panel-0-0').hidden"),
        false
    );

    // Dark, and light again.
    let ground = "getComputedStyle(document.body).backgroundColor";
    let before = browser.text(ground);
    browser.click("#theme");
    let after = browser.text(ground);
    assert_ne!(before, after);
    browser.click("#theme");
    assert_eq!(browser.text(ground), before);

    // The samples of a cell.
    browser.click("#panel-0-0 [data-cell='0']");
    let rows = browser.value("[...document.querySelectorAll('#panel-0-0 .distribution tbody tr')].map(r => [r.cells[0].textContent, Number(r.cells[1].textContent)])");
    let first = &results["cells"][0];
    assert_eq!(rows[0][0], "floor");
    assert_eq!(rows[0][1], first["rounds"]);
    assert_eq!(rows.as_array().unwrap().len(), 5);

    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_hostile_name_does_nothing_in_a_browser() {
    let Some(mut browser) = browser("a_hostile_name_does_nothing_in_a_browser") else {
        return;
    };
    let bench = Bench::new();
    let folder = bench.work().join("<script>document.title='taken'<");
    fs::create_dir(&folder).unwrap();
    let mut measure = bench.vectored();
    measure.args([
        "measure",
        "--segments",
        "2",
        "--budget",
        "300ms",
        "--quiet",
        "--target",
    ]);
    measure.arg(&folder).assert().success();
    let path = bench.saved().remove(0);
    let mut results = json(&fs::read_to_string(&path).unwrap());
    let hostile = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">";
    results["host"]["name"] = hostile.into();
    results["host"]["kernel"] = hostile.into();
    results["started_at"] = hostile.into();
    for cell in results["cells"].as_array_mut().unwrap() {
        cell["path"] = hostile.into();
    }
    fs::write(&path, results.to_string()).unwrap();
    let page = page_of(&bench, &["latest", "latest"]);
    browser.open(&page);
    assert_ne!(browser.text("document.title"), "taken");
    assert_eq!(browser.value("document.scripts.length"), 3);
    assert_eq!(browser.value("document.images.length"), 0);
    let heading = browser.text("document.querySelector('.panel h3').textContent");
    assert!(
        heading.contains("</script><script>document.title='taken'"),
        "{heading}"
    );
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn fifty_machines_fit_one_page() {
    let Some(mut browser) = browser("fifty_machines_fit_one_page") else {
        return;
    };
    let bench = Bench::new();
    bench.synthetic().assert().success();
    let result = bench.only_result();
    let files: Vec<String> = (0..50)
        .map(|number| {
            let mut result = result.clone();
            result["host"]["name"] = format!("machine-{number}").into();
            let file = bench.work().join(format!("{number}.json"));
            fs::write(&file, result.to_string()).unwrap();
            file.display().to_string()
        })
        .collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let page = page_of(&bench, &names);
    let bytes = fs::metadata(&page).unwrap().len();
    let took = browser.open(&page);
    println!("50 machines: {bytes} bytes, opened in {took:?}");
    assert_eq!(
        browser.value("document.querySelectorAll('.run:not([hidden])').length"),
        1
    );
    browser.value("document.getElementById('run').focus()");
    browser.value("(() => { const s = document.getElementById('run'); s.value = '49'; s.dispatchEvent(new Event('change')); })()");
    assert_eq!(
        browser.text("document.querySelector('.run:not([hidden])').id"),
        "run-49"
    );
    let charts = browser.value("document.querySelectorAll('#run-49 canvas').length");
    assert_eq!(charts, 3);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Makes the window so wide.
pub fn resize(browser: &mut Browser, width: u32) {
    let metrics = serde_json::json!({
        "width": width, "height": 1200, "deviceScaleFactor": 1, "mobile": false,
    });
    browser.ask("Emulation.setDeviceMetricsOverride", metrics);
}

/// Elements of an open page that are wider than the window, cut, or a column head without a tooltip.
pub fn flaws(browser: &mut Browser) -> Value {
    browser.value(
        "(() => {
            const flaws = [];
            const root = document.documentElement;
            const name = (e) => `${e.tagName} ${e.className?.baseVal ?? e.className}: ${e.textContent.slice(0, 60)}`;
            const isAside = (e) => e.closest('.aside, .skip, .u-over, .u-legend');
            if (root.scrollWidth > innerWidth) flaws.push(`the page is ${root.scrollWidth} wide`);
            for (const e of document.body.querySelectorAll('*')) {
                const box = e.getBoundingClientRect();
                const isCut = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'hidden';
                if (box.width === 0 || isAside(e)) continue;
                if (isCut) flaws.push(`cut: ${name(e)}`);
                if (box.right > innerWidth + 1 && !e.closest('.wide')) flaws.push(`too wide: ${name(e)}`);
            }
            for (const e of document.querySelectorAll('table.map td button span')) {
                const [box, square] = [e, e.parentElement].map((it) => it.getBoundingClientRect());
                if (box.right > square.right + 1 || box.bottom > square.bottom + 1) flaws.push(`cut: ${name(e)}`);
            }
            for (const e of document.querySelectorAll('figure.drawn text')) {
                const [box, drawing] = [e, e.ownerSVGElement].map((it) => it.getBoundingClientRect());
                if (box.left < drawing.left - 1 || box.right > drawing.right + 1) flaws.push(`cut: ${name(e)}`);
            }
            for (const e of document.querySelectorAll('thead th'))
                if (!e.title.endsWith('.')) flaws.push(`no tooltip: ${name(e)}`);
            return flaws;
        })()",
    )
}

#[test]
fn no_page_is_wider_than_its_window_or_cuts_a_word() {
    let test = "no_page_is_wider_than_its_window_or_cuts_a_word";
    let Some(mut browser) = browser(test) else {
        return;
    };
    let bench = Bench::new();
    bench.synthetic().assert().success();
    let mut result = bench.only_result();
    // Names without a place to break them at.
    result["host"]["name"] = "machine".repeat(12).into();
    result["host"]["cpu"]["model"] = "Processor/".repeat(9).into();
    result["host"]["warnings"] = serde_json::json!(["w".repeat(90)]);
    for (number, cell) in result["cells"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        if cell["target"] == "pipe" {
            cell["target"] = "fifo".into();
            cell["path"] = format!("/{}", "folder".repeat(15)).into();
        }
        if number % 3 == 0 {
            cell["floor_ns"] = 123_456_789.0.into();
        }
    }
    let file = |name: &str, text: &str| {
        let path = bench.work().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let run = file("run.json", &result.to_string());
    result["host"]["name"] = "other".into();
    let other = file("other.json", &result.to_string());
    let experiments = bench.work().join("experiments.json");
    let mut reproduce = bench.vectored();
    reproduce.args(["reproduce", "all", "--quick", "--min", "128KiB", "--quiet"]);
    reproduce
        .args(["--format", "json", "--output"])
        .arg(&experiments);
    reproduce.assert().success();
    let experiments = experiments.display().to_string();
    let advice = bench.work().join("advice.json");
    let log = file("log", &crate::advise::records());
    file("costs.json", &crate::advise::costs());
    let mut advise = bench.vectored();
    advise.args(["advise", "--costs", "costs.json", &log, "--quiet"]);
    advise.args(["--format", "json", "--output"]).arg(&advice);
    advise.assert().success();
    let advice = advice.display().to_string();
    let kinds = [
        ("run", vec![run.as_str()]),
        ("machines", vec![&run, &other]),
        ("experiments", vec![&experiments]),
        ("advice", vec![&advice]),
        ("all", vec![&run, &other, &experiments, &advice]),
    ];
    let mut found = Vec::new();
    for (kind, results) in kinds {
        let page = page_of(&bench, &results);
        for width in [390, 1280] {
            resize(&mut browser, width);
            browser.open(&page);
            found.push((format!("{kind} at {width}"), flaws(&mut browser)));
            // Every target, and the samples of a cell.
            browser.value(
                "for (const e of document.querySelectorAll('[role=tab]')) { e.click(); \
                 e.closest('.run').querySelector('.panel:not([hidden]) td button')?.click(); }",
            );
            found.push((format!("{kind} at {width}, opened"), flaws(&mut browser)));
            assert_eq!(browser.complaints(), Vec::<String>::new());
        }
    }
    found.retain(|(_, flaws)| flaws != &Value::Array(Vec::new()));
    assert!(found.is_empty(), "{found:#?}");
}
