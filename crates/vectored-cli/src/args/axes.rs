//! The options of the axes: one option for each axis of [`AXES`].

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use vectored_results::model::{AXES, Axis, Conditions, Values};

use crate::size_lists::{Numbers, counts_from, sizes};

/// The typed values by axis. An axis without values has no entry.
#[derive(Clone, Debug, Default)]
pub struct AxisOptions {
    given: Vec<(&'static Axis, Vec<String>)>,
}

impl AxisOptions {
    /// Returns each combination of the values. An axis without values keeps its value in `usual`. The values of the
    /// last axis vary fastest.
    pub fn product(&self, usual: Conditions) -> Vec<Conditions> {
        let mut all = vec![usual];
        for (axis, values) in &self.given {
            let with = |one: &Conditions, value: &String| {
                let mut one = one.clone();
                axis.set(&mut one, value).expect("it was parsed");
                one
            };
            all = all
                .iter()
                .flat_map(|one| values.iter().map(move |value| with(one, value)))
                .collect();
        }
        all
    }

    pub fn of(&self, name: &str) -> &[String] {
        let mut given = self.given.iter();
        given
            .find(|(axis, _)| axis.name == name)
            .map_or(&[], |(_, values)| values)
    }
}

impl Args for AxisOptions {
    fn augment_args(command: Command) -> Command {
        AXES.iter()
            .fold(command, |command, axis| command.arg(argument(axis)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(axis: &'static Axis) -> Arg {
    let argument = Arg::new(axis.name).long(axis.option());
    let (argument, ending) = match axis.values {
        Values::Flag => (argument.action(ArgAction::SetTrue), String::new()),
        Values::Word(words) => (
            argument
                .value_name("WORD")
                .value_parser(PossibleValuesParser::new(words)),
            format!(" [default: {}]", words[0]),
        ),
        Values::Words(words) => (
            argument
                .value_name("WORD")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .value_parser(PossibleValuesParser::new(words)),
            format!("; may be repeated [default: {}]", words[0]),
        ),
        Values::Numbers { min, max, default } => (
            argument.value_name("LIST").value_parser(move |text: &str| {
                at_most(counts_from(min as usize, text)?, axis, max)
            }),
            default.map_or_else(String::new, |default| format!(" [default: {default}]")),
        ),
        Values::Sizes { max, default } => (
            argument
                .value_name("LIST")
                .value_parser(move |text: &str| at_most(sizes(text)?, axis, max)),
            format!(" [default: {default}]"),
        ),
    };
    let (line, rest) = axis.about.split_once('\n').unwrap_or((axis.about, ""));
    let help = format!("{line}{ending}");
    match rest {
        "" => argument.help(help),
        _ => argument.long_help(format!("{help}\n{rest}")).help(help),
    }
}

fn at_most(numbers: Numbers, axis: &Axis, max: u32) -> Result<Numbers, String> {
    match numbers.0.last() {
        Some(&most) if most > max as usize => Err(format!(
            "{most} is too much: expected --{} to be at most {max}",
            axis.option()
        )),
        _ => Ok(numbers),
    }
}

impl FromArgMatches for AxisOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = AXES.iter().map(|axis| (axis, values(axis, matches)));
        Ok(AxisOptions {
            given: given.filter(|(_, values)| !values.is_empty()).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns each value once. Words have the order of the table, and numbers are ascending.
fn values(axis: &Axis, matches: &ArgMatches) -> Vec<String> {
    match axis.values {
        Values::Flag if matches.get_flag(axis.name) => vec!["true".to_owned()],
        Values::Flag => Vec::new(),
        Values::Word(words) | Values::Words(words) => {
            let typed = matches.get_many::<String>(axis.name);
            let typed: Vec<&str> = typed.into_iter().flatten().map(String::as_str).collect();
            let words = words.iter().filter(|word| typed.contains(word));
            words.map(|word| (*word).to_owned()).collect()
        }
        Values::Numbers { .. } | Values::Sizes { .. } => {
            let typed = matches.get_one::<Numbers>(axis.name);
            let numbers = typed.into_iter().flat_map(|Numbers(numbers)| numbers);
            numbers.map(usize::to_string).collect()
        }
    }
}
