//! `--history`: what of a conversation is sent to the model.

use std::path::Path;

use anyhow::{Context as _, bail};
use notekeeper_domain::{HistoryPolicy, TokensPolicy, WindowPolicy, check_policies};

/// Reads what is given: `window:N` for the latest messages, `tokens:N` for as many as fit, or a JSON
/// file with a list of policies.
pub(super) fn policies(given: &str) -> anyhow::Result<Vec<HistoryPolicy>> {
    let number = |text: &str| -> anyhow::Result<u64> {
        let number = text.parse();
        number.with_context(|| format!("--history `{given}`: `{text}` is no whole number"))
    };
    let policies = match given.split_once(':') {
        Some(("window", count)) => vec![HistoryPolicy::Window(WindowPolicy {
            messages: Some(number(count)?),
            ..WindowPolicy::default()
        })],
        Some(("tokens", count)) => vec![HistoryPolicy::Tokens(TokensPolicy {
            max_tokens: number(count)?,
        })],
        _ => of_file(Path::new(given))?,
    };
    if let Err(error) = check_policies(&policies) {
        bail!("--history `{given}`: {error}");
    }
    Ok(policies)
}

fn of_file(path: &Path) -> anyhow::Result<Vec<HistoryPolicy>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "--history: can't read `{shown}`; give `window:N`, `tokens:N`, or a JSON file with a list of \
             policies"
        )
    })?;
    serde_json::from_str(&text).with_context(|| {
        format!("--history: `{shown}` holds no list of policies, such as [{{\"window\": {{\"messages\": 40}}}}]")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_and_files_are_read_and_what_makes_no_policy_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("write it");
            path.to_str().expect("text").to_owned()
        };
        let window = policies("window:40").expect("a policy");
        let written = r#"[{"window": {"messages": 40}}]"#;
        assert_eq!(policies(&file("a.json", written)).expect("a list"), window);
        assert_eq!(policies("tokens:900").expect("a policy").len(), 1);
        let summary = r#"[{"summary": {"over_tokens": 4000}}, {"tokens": {"max_tokens": 8000}}]"#;
        assert_eq!(policies(&file("b.json", summary)).expect("a list").len(), 2);
        for (given, told) in [
            ("window:many".to_owned(), "`many` is no whole number"),
            ("window:0".to_owned(), "history[0]"),
            ("nowhere.json".to_owned(), "can't read `nowhere.json`"),
            (
                file("c.json", r#"{"window": 3}"#),
                "holds no list of policies",
            ),
            (
                file("d.json", r#"[{"windw": {"messages": 3}}]"#),
                "holds no list of policies",
            ),
        ] {
            let error = format!("{:#}", policies(&given).expect_err("no policy"));
            assert!(error.contains(told), "{error}");
        }
    }
}
