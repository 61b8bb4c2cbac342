//! Budgets from none to more than there is.

use super::*;
use crate::{
    NOTE_CHARS_MAX_DEFAULT,
    deadline::within_a_minute,
    text::{char_prefix, char_suffix},
};

#[test]
fn one_line_of_the_greatest_size_and_five_thousand_files_stay_inside_every_budget() {
    let names: Vec<String> = (0..5_000).map(|n| format!("note-{n:04}.md")).collect();
    let notebook = Notebook {
        names,
        ..notebook(&"x".repeat(NOTE_CHARS_MAX_DEFAULT), &[])
    };
    for (tokens_max, guidance_chars) in [
        (2_000, 845),
        (100, 0),
        (100, 500),
        (40, 20),
        (20, 0),
        (1, 0),
    ] {
        let settings = RenderSettings {
            tokens_max,
            guidance_chars,
            heading: "H".repeat(300),
            ..settings()
        };
        let budget = (tokens_max * CHARS_PER_TOKEN).saturating_sub(guidance_chars);
        match render_snapshot(&notebook, &settings) {
            Rendered::Block { text, counts } => {
                assert!(text.chars().count() <= budget, "{tokens_max}");
                assert!(counts.line_cut || counts.lines_shown == 0);
                assert!(
                    text.contains("not listed: use") || text.contains("not shown"),
                    "{text}"
                );
            }
            Rendered::BudgetExhausted => assert!(budget < 30),
            Rendered::Empty => panic!("something is stored"),
        }
    }
}

#[test]
fn no_cut_at_any_budget_or_read_bound_splits_a_character() {
    let content =
        "固\u{200c}👩\u{200d}🔬é\r\n- e\u{301}固👩\u{200d}👩\u{200d}👧\u{2028}固".repeat(3);
    let names = ["é固.md", "👩\u{200d}🔬.md"];
    for body in 0..content.chars().count() + 120 {
        for (content, part) in [
            (content.as_str(), MainPart::Whole),
            (char_prefix(&content, body).0, MainPart::Head),
            (char_suffix(&content, body).0, MainPart::Tail),
        ] {
            let main = Some(MainNote {
                content: content.to_owned(),
                part,
            });
            let notebook = Notebook {
                main,
                ..notebook("", &names)
            };
            if let Rendered::Block { text, counts } = render_snapshot(&notebook, &body_of(body)) {
                assert_eq!(text.chars().count(), counts.block_chars);
                assert!(counts.block_chars <= body + OPENING.len() + CLOSING.len());
            }
        }
    }
}

#[test]
fn rendering_costs_linear_time() {
    let counts = within_a_minute(|| {
        let settings = RenderSettings {
            tokens_max: 1_000_000,
            lines_max: usize::MAX,
            ..settings()
        };
        let names = (0..settings.names_max())
            .map(|n| format!("{n:06}.md"))
            .collect();
        let notebook = Notebook {
            names,
            ..notebook(&"a\n".repeat(1_000_000), &[])
        };
        block(&notebook, &settings).1
    });
    assert_eq!(counts.lines_shown, 1_000_000);
    assert!(counts.files_listed > 150_000, "{counts:?}");
}

/// One character more shows no less; and where it shows more, it was needed.
pub(super) fn assert_one_more_character_counts(notebook: &Notebook, body: usize) {
    let shown = |body| match render_snapshot(notebook, &body_of(body)) {
        Rendered::Block { counts, .. } => (
            (counts.lines_shown, !counts.line_cut, counts.files_listed),
            counts.block_chars,
        ),
        Rendered::Empty | Rendered::BudgetExhausted => ((0, true, 0), 0),
    };
    let ((less, _), (more, chars)) = (shown(body), shown(body + 1));
    assert!(less <= more, "{less:?} at {body}, {more:?} with one more");
    if less < more {
        assert_eq!(chars, body + 1 + OPENING.len() + CLOSING.len());
    }
}

#[test]
fn as_much_as_possible_is_shown_at_every_budget() {
    let names: Vec<String> = (0..14)
        .map(|n| format!("{}.md", "n".repeat(1 + n % 4)))
        .collect();
    for part in [MainPart::Whole, MainPart::Head, MainPart::Tail] {
        for (main, more_names) in [(lines(14), false), ("\n\na\n\n\nb".to_owned(), true)] {
            let main = Some(MainNote {
                content: main,
                part,
            });
            let notebook = Notebook {
                main,
                names: names.clone(),
                more_names,
            };
            for body in 0..500 {
                assert_one_more_character_counts(&notebook, body);
            }
        }
    }
}
