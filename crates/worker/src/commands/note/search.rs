//! `notekeeper note search`: search the notes of a notebook for words.

use std::{path::Path, process::ExitCode};

use clap::Args;
use notekeeper_contract::{MemoryMatches, Outcome, SearchMemoryInput};
use notekeeper_domain::{
    NOTE_CHARS_MAX_DEFAULT, SEARCH_FILES_MAX_DEFAULT, SEARCH_RESULT_CHARS_MAX_DEFAULT,
    SEARCH_RESULTS_MAX_DEFAULT,
};

use crate::{
    commands::access::at_least_one,
    exit::Exit,
    output::{CodedError, print, print_json, remark, shown},
};

use super::NotebookArgs;

#[derive(Debug, Args)]
#[command(after_help = "\
Words are looked for as they are, in any case of letters; a note matches that holds one of them. \
Best matches come first. No match is no error: nothing is printed, and the exit code is 0.

Examples:
  notekeeper note search tea Paris --namespace customers/ada
  notekeeper note search 'v2.1' --namespace team --json | jq -r '.matches[].file'")]
pub(crate) struct SearchArgs {
    /// Words to look for, at most 32 different ones.
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,

    /// Most matches to print.
    #[arg(long, default_value_t = SEARCH_RESULTS_MAX_DEFAULT, value_name = "MATCHES", value_parser = at_least_one())]
    limit: usize,

    #[command(flatten)]
    pub(super) notebook: NotebookArgs,
}

pub(super) async fn run(config: Option<&Path>, args: SearchArgs) -> anyhow::Result<ExitCode> {
    let notebook = args.notebook;
    let input = SearchMemoryInput {
        store: notebook.at.store.clone(),
        workspace: notebook.workspace.clone(),
        scope: notebook.at.scope()?,
        query: args.words.join(" "),
        max_search_results: args.limit,
        max_search_result_chars: SEARCH_RESULT_CHARS_MAX_DEFAULT,
        max_search_files: SEARCH_FILES_MAX_DEFAULT,
        max_memory_size: NOTE_CHARS_MAX_DEFAULT,
    };
    let answer = notebook
        .using(config, async |notes| notes.search(input).await)
        .await?;
    let found = match answer {
        Outcome::Ok(found) => found,
        Outcome::Refused(why) => {
            return Err(CodedError {
                code: why.reason,
                message: why.message,
            }
            .into());
        }
    };
    if notebook.at.output.json {
        print_json(&found)?;
        return Ok(Exit::Done.into());
    }
    print(&rendered(&found))?;
    if found.matches.is_empty() {
        remark(&format!("no match in {} notes", found.scanned));
    }
    if found.truncated {
        remark("something was left out: there are more matches, more notes or longer notes");
    }
    Ok(Exit::Done.into())
}

/// Each match under the name of its note.
fn rendered(found: &MemoryMatches) -> String {
    let mut text = String::new();
    for found in &found.matches {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{}\n", shown(&found.file)));
        for line in shown(&found.snippet).lines() {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use notekeeper_contract::MemoryMatch;

    use super::*;

    #[test]
    fn each_match_stands_under_the_name_of_its_note() {
        let found = |file: &str, snippet: &str| MemoryMatch {
            file: file.to_owned(),
            snippet: snippet.to_owned(),
            score: 1.0,
        };
        let found = MemoryMatches {
            matches: vec![
                found("tea.md", "...green\n\n- black \u{1b}[31m"),
                found("milk.md", "none"),
            ],
            scanned: 3,
            truncated: false,
        };
        assert_eq!(
            rendered(&found),
            "tea.md\n  ...green\n\n  - black \u{fffd}[31m\n\nmilk.md\n  none\n"
        );
    }
}
