//! Writes a result to the outputs of [`OutputArgs`].

use std::path::PathBuf;

use vectored_report::{Document, html, markdown};

use crate::args::{Format, OutputArgs};
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::terminal::{Screen, print, print_aside};

pub struct Outputs {
    format: Format,
    /// `None` means a standard stream.
    file: Option<OutputFile>,
    page: Option<OutputFile>,
    /// Whether the result goes to standard error because a command uses standard output.
    pub is_aside: bool,
    pub details: bool,
}

impl Outputs {
    /// Checks that both files can be written, and that they differ from each other and from `inputs`.
    pub fn check(args: &OutputArgs, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let check = |name: Option<&PathBuf>, option| {
            name.map(|name| OutputFile::check(name, option)).transpose()
        };
        let page = check(args.html.as_ref(), "--html")?;
        if page.as_ref().is_some_and(OutputFile::is_standard) {
            return Err(Failure::usage(
                "--html cannot be standard output, which receives the result: name a file",
            ));
        }
        let outputs = Outputs {
            format: args.format,
            file: check(args.output.as_ref(), "--output")?,
            page,
            is_aside: false,
            details: false,
        };
        let files: Vec<&OutputFile> = outputs.file.iter().chain(&outputs.page).collect();
        OutputFile::check_distinct(&files, inputs)?;
        Ok(outputs)
    }

    pub fn show(
        &self,
        document: &Document,
        json: &str,
        csv: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        self.write_page(std::slice::from_ref(document))?;
        self.print(document, json, csv)
    }

    pub fn write_page(&self, documents: &[Document]) -> anyhow::Result<()> {
        match &self.page {
            Some(page) => page.write(&html(documents)),
            None => Ok(()),
        }
    }

    pub fn print(
        &self,
        document: &Document,
        json: &str,
        csv: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Table => self.screen().show(document, self.details),
            Format::Json => json.to_owned(),
            Format::Csv => csv(),
            Format::Markdown => markdown(document),
        };
        match &self.file {
            Some(file) => file.write(&text),
            None if self.is_aside => print_aside(&text),
            None => print(&text),
        }
    }

    fn screen(&self) -> Screen {
        if self.is_aside {
            Screen::on(&std::io::stderr())
        } else {
            Screen::of_output(self.file.as_ref().is_some_and(|file| !file.is_standard()))
        }
    }
}
