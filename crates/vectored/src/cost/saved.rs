//! Loads a cost model from a saved result of `vectored measure`.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::cost::{CostModel, TargetKind};

#[derive(Deserialize)]
struct Saved {
    cost_models: Vec<SavedModel>,
}

#[derive(Deserialize)]
struct SavedModel {
    target: String,
    source: String,
    #[serde(flatten)]
    model: CostModel,
}

impl CostModel {
    /// Reads the model of a target from a saved result of `vectored measure`, or from its output with `--format
    /// json`. The command calibrates the models before its run.
    ///
    /// Measure once on each type of machine, while no other program runs: `vectored measure --target
    /// file,pipe,tcp --format json > machine.json`. Then ship the file with the program. The model of
    /// [`TargetKind::Other`] is the model of the target `null`.
    ///
    /// # Errors
    ///
    /// - The error of reading the file.
    /// - [`InvalidData`](io::ErrorKind::InvalidData) if the file is not a result of `vectored measure`, or has no
    ///   calibrated model of this target.
    ///
    /// After an error, a program should use [`CostModel::for_target`].
    ///
    /// # Examples
    ///
    /// ```
    /// use vectored::cost::TargetKind;
    /// use vectored::{CostModel, Gather};
    ///
    /// # let file = std::env::temp_dir().join(format!("vectored-load-{}.json", std::process::id()));
    /// # let model = serde_json::to_value(CostModel::for_target(TargetKind::Pipe)).unwrap();
    /// # let mut saved = serde_json::json!({ "cost_models": [model] });
    /// # saved["cost_models"][0]["target"] = "pipe".into();
    /// # saved["cost_models"][0]["source"] = "calibration".into();
    /// # std::fs::write(&file, saved.to_string())?;
    /// let gather = Gather::with_model(CostModel::load(&file, TargetKind::Pipe)?);
    /// # assert_eq!(*gather.cost_model(), CostModel::for_target(TargetKind::Pipe));
    /// # std::fs::remove_file(file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn load(path: impl AsRef<Path>, target: TargetKind) -> io::Result<CostModel> {
        let path = path.as_ref();
        of_text(&fs::read(path)?, target).map_err(|reason| {
            let message = format!("{}: {reason}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }
}

fn of_text(text: &[u8], target: TargetKind) -> Result<CostModel, String> {
    let saved: Saved = serde_json::from_slice(text)
        .map_err(|error| format!("no saved result of `vectored measure`: {error}"))?;
    let name = match target {
        TargetKind::File => "file",
        TargetKind::FileOverwrite => "file-overwrite",
        TargetKind::Pipe => "pipe",
        TargetKind::Unix => "unix",
        TargetKind::Tcp => "tcp",
        TargetKind::Other => "null",
    };
    let mut models = saved.cost_models.into_iter();
    let calibrated = models.find(|saved| saved.target == name && saved.source == "calibration");
    calibrated.map(|saved| saved.model).ok_or_else(|| {
        format!("no calibrated model of the target {name}: run `vectored measure --target {name}`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calibrated_model_of_the_target_is_loaded() {
        let kinds = [
            ("file", TargetKind::File),
            ("file-overwrite", TargetKind::FileOverwrite),
            ("pipe", TargetKind::Pipe),
            ("unix", TargetKind::Unix),
            ("tcp", TargetKind::Tcp),
            ("null", TargetKind::Other),
        ];
        let model = |number: f64| CostModel::default().with(|model| model.call_ns = number);
        let saved = |(target, source, number): (&str, &str, f64)| {
            let mut saved = serde_json::to_value(model(number)).unwrap();
            saved["target"] = target.into();
            saved["source"] = source.into();
            saved["judged_cells"] = 3.into();
            saved
        };
        let mut all = Vec::new();
        for (number, (target, _)) in kinds.iter().enumerate() {
            all.push(saved((target, "cells", 100.5)));
            all.push(saved((target, "calibration", number as f64 + 0.1)));
        }
        let text =
            serde_json::json!({ "schema": "x", "cost_models": all, "cells": [] }).to_string();
        for (number, (_, kind)) in kinds.into_iter().enumerate() {
            assert_eq!(
                of_text(text.as_bytes(), kind),
                Ok(model(number as f64 + 0.1)),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_file_without_the_model_is_an_error_that_names_the_remedy() {
        let of = |text: &str| of_text(text.as_bytes(), TargetKind::Pipe).unwrap_err();
        let none = of(r#"{ "cost_models": [] }"#);
        assert!(
            none.ends_with("run `vectored measure --target pipe`"),
            "{none}"
        );
        for text in [
            "",
            "[]",
            "{}",
            r#"{ "cost_models": [{ "target": "pipe" }] }"#,
        ] {
            let error = of(text);
            assert!(
                error.starts_with("no saved result of `vectored measure`: "),
                "{error}"
            );
        }
        let missing = CostModel::load("/nonexistent/machine.json", TargetKind::Pipe).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
