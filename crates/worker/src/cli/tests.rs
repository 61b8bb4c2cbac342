//! What people read of the command line: help, examples, completions.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::Path,
    process::{Command as Process, Stdio},
};

use clap::{Command, CommandFactory as _, error::ErrorKind};
use clap_complete::{Shell, generate};

use super::Cli;

/// The command line, without what the environment adds to its help.
fn root() -> Command {
    fn plain(command: Command) -> Command {
        command
            .term_width(100)
            .mut_args(|argument| argument.hide_env_values(true))
            .mut_subcommands(plain)
    }
    let mut root = plain(Cli::command());
    root.build();
    root
}

/// Every command that help shows, with the words that call it.
fn commands() -> Vec<(String, Command)> {
    fn add(words: &str, command: &Command, all: &mut Vec<(String, Command)>) {
        all.push((words.to_owned(), command.clone()));
        for inner in command.get_subcommands() {
            if !inner.is_hide_set() && inner.get_name() != "help" {
                add(&format!("{words} {}", inner.get_name()), inner, all);
            }
        }
    }
    let mut all = Vec::new();
    add("notekeeper", &root(), &mut all);
    all
}

/// Those that do something themselves.
fn leaves() -> Vec<(String, Command)> {
    let mut leaves = commands();
    leaves.retain(|(_, command)| !command.has_subcommands());
    leaves
}

fn long_help(command: &Command) -> String {
    command.clone().render_long_help().to_string()
}

#[test]
fn arguments_fit_together() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_has_a_page_of_help() {
    for (words, command) in commands() {
        // Lines are filled up with blanks where a value stands below its option.
        let page: Vec<_> = long_help(&command)
            .lines()
            .map(str::trim_end)
            .map(str::to_owned)
            .collect();
        insta::assert_snapshot!(words.replace(' ', "_"), page.join("\n"));
    }
}

#[test]
fn every_command_says_what_it_is_for_and_shows_examples() {
    for (words, command) in commands() {
        assert!(command.get_about().is_some(), "`{words}`");
        let examples = examples(&command);
        assert!(!examples.is_empty(), "`{words}` has no `Examples:`");
        let own = examples
            .iter()
            .filter(|example| example.join(" ").starts_with(&words));
        assert!(
            own.count() > 0,
            "no example of `{words}` calls it: {examples:?}"
        );
    }
}

/// A line that is broken can't be copied. What is said around the examples is broken where the
/// terminal ends, so each paragraph must be one line.
#[test]
fn no_example_is_too_wide_for_a_page_and_no_paragraph_is_broken_by_hand() {
    for (words, command) in commands() {
        let after = command.get_after_help().map(ToString::to_string);
        let mut paragraph = "";
        for line in after.as_deref().unwrap_or_default().lines() {
            if line.starts_with("  ") {
                assert!(line.chars().count() <= 100, "`{words}`: {line}");
            }
            let prose = !line.starts_with(' ') && !line.is_empty();
            assert!(
                !prose || paragraph.is_empty(),
                "`{words}`: {paragraph} | {line}"
            );
            paragraph = if prose { line } else { "" };
        }
    }
}

#[test]
fn every_option_says_what_it_means() {
    for (words, command) in commands() {
        for argument in command.get_arguments() {
            let id = argument.get_id();
            assert!(argument.get_help().is_some(), "`{id}` of `{words}`");
        }
    }
}

#[test]
fn every_example_is_a_command_line_that_is_taken() {
    let mut taken = 0;
    for (_, command) in commands() {
        for example in examples(&command) {
            match root().try_get_matches_from(&example) {
                Ok(_) => taken += 1,
                Err(error) if error.kind() == ErrorKind::DisplayHelp => taken += 1,
                Err(error) => panic!("{example:?}: {error}"),
            }
        }
    }
    assert!(taken > 20, "{taken} examples");
}

/// The calls of this program under `Examples:`, in words.
fn examples(command: &Command) -> Vec<Vec<String>> {
    let help = long_help(command);
    let Some((_, examples)) = help.split_once("Examples:\n") else {
        return Vec::new();
    };
    let lines = examples.lines().take_while(|line| line.starts_with("  "));
    lines
        .map(words)
        .map(|words| {
            let call = words
                .into_iter()
                .skip_while(|word| word.trim_start_matches("<(") != "notekeeper");
            let call = call.take_while(|word| !["|", ">", "<", "#"].contains(&word.as_str()));
            call.map(|word| {
                word.trim_start_matches("<(")
                    .trim_end_matches(')')
                    .to_owned()
            })
            .collect::<Vec<_>>()
        })
        .filter(|call| !call.is_empty())
        .collect()
}

/// A line as a shell takes it apart, as far as examples need it.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => (quote, begun) = (Some(c), true),
            None if c == ' ' => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            None => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[test]
fn a_line_is_taken_apart_as_a_shell_does() {
    assert_eq!(words("  a 'b c' \"d\" ''  e"), ["a", "b c", "d", "", "e"]);
}

/// A page of the documentation.
fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(name)).expect("the documentation")
}

#[test]
fn every_flag_of_the_documented_settings_exists_with_its_variable() {
    let documented = page("configuration.md");
    let rows: Vec<Vec<&str>> = documented
        .lines()
        .filter(|line| line.starts_with("| `--"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 8, "{} rows", rows.len());
    let commands = commands();
    for row in rows {
        let flag = row[1]
            .split('`')
            .nth(1)
            .expect("a flag")
            .trim_start_matches("--");
        let flag = flag.split(' ').next().unwrap_or_default();
        let arguments: Vec<_> = commands
            .iter()
            .flat_map(|(_, command)| command.get_arguments())
            .filter(|argument| argument.get_long() == Some(flag))
            .collect();
        assert!(!arguments.is_empty(), "no command has `--{flag}`");
        if let Some(variable) = row[2].split('`').nth(1) {
            let of = |argument: &&clap::Arg| argument.get_env().is_some_and(|env| env == variable);
            assert!(
                arguments.iter().any(of),
                "`--{flag}` doesn't read `{variable}`"
            );
        }
    }
}

#[test]
fn every_command_stands_in_the_documentation_of_the_commands() {
    let documented = page("commands.md");
    for (words, _) in leaves() {
        let inner: Vec<_> = words.split(' ').skip(1).collect();
        for word in &inner {
            assert!(documented.contains(word), "`{words}`");
        }
    }
}

#[test]
fn a_misspelt_command_is_told_the_one_that_was_probably_meant() {
    for (misspelt, meant) in [
        (&["notekeeper", "wroker"][..], "worker"),
        (&["notekeeper", "note", "serach"], "search"),
        (
            &["notekeeper", "note", "ls", "--namspace", "a"],
            "--namespace",
        ),
    ] {
        let error = root()
            .try_get_matches_from(misspelt)
            .expect_err("it is misspelt");
        assert!(error.to_string().contains(meant), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}

fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "notekeeper", &mut script);
    String::from_utf8(script).expect("UTF-8")
}

#[test]
fn completions_know_every_command() {
    let names: BTreeSet<String> = commands()
        .iter()
        .map(|(_, command)| command.get_name().to_owned())
        .collect();
    for shell in [
        Shell::Bash,
        Shell::Zsh,
        Shell::Fish,
        Shell::Elvish,
        Shell::PowerShell,
    ] {
        let script = completions(shell);
        for name in &names {
            assert!(script.contains(name), "{shell}: `{name}`");
        }
    }
}

#[test]
fn bash_takes_its_completions() {
    let mut bash = Process::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .expect("start bash");
    let script = completions(Shell::Bash);
    bash.stdin
        .take()
        .expect("piped")
        .write_all(script.as_bytes())
        .expect("bash reads");
    assert!(bash.wait().expect("bash ends").success());
}
