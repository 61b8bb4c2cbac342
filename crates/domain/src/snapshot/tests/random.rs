//! Whatever is stored and however little room there is.

use proptest::prelude::*;

use super::{budgets::assert_one_more_character_counts, *};
use crate::{escape_stored_text, text::trim_end_space};

/// Text made of lines, tags, near misses and characters of every width.
fn stored_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "<",
        "/",
        ">",
        "memory",
        "system",
        "</memory>",
        "\n",
        "\n",
        "\r\n",
        "\u{2028}",
        " ",
        "- ",
        "word ",
        "固",
        "👩\u{200d}🔬",
        "\u{200c}",
        "e\u{301}",
        "[",
        "&lt;",
    ]);
    prop_oneof![
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat()),
        any::<String>(),
        "[a-z]{0,400}",
        "([a-z -]{0,30}\n){0,30}",
    ]
}

fn any_notebook() -> impl Strategy<Value = Notebook> {
    let part = prop::sample::select(vec![MainPart::Whole, MainPart::Head, MainPart::Tail]);
    let main = (stored_text(), part).prop_map(|(content, part)| MainNote { content, part });
    let name = prop_oneof!["[a-z]{1,20}\\.md", any::<String>()];
    (
        prop::option::of(main),
        prop::collection::vec(name, 0..12),
        any::<bool>(),
    )
        .prop_map(|(main, names, more_names)| Notebook {
            main,
            names,
            more_names,
        })
}

fn any_settings() -> impl Strategy<Value = RenderSettings> {
    let tool = prop::sample::select(vec![
        "read_memory",
        "",
        "a_very_long_prefix_for_a_tool_read_memory",
    ]);
    let heading = prop_oneof![Just(String::new()), stored_text()];
    let location = prop::option::of(stored_text());
    let file_reader = prop::option::of(Just(FILE_READER.to_owned()));
    (
        1usize..200,
        0usize..300,
        0usize..40,
        heading,
        tool,
        location,
        file_reader,
    )
        .prop_map(
            |(tokens_max, guidance_chars, lines_max, heading, tool, location, file_reader)| {
                RenderSettings {
                    tokens_max,
                    guidance_chars,
                    lines_max,
                    heading,
                    reader: tool.to_owned(),
                    searcher: tool.to_owned(),
                    location,
                    file_reader,
                }
            },
        )
}

/// The lines of a main note as a block would show them, told in another way than the product does.
fn shown_lines(content: &str) -> Vec<String> {
    let unified = escape_stored_text(trim_end_space(content)).replace("\r\n", "\n");
    let breaks: &[char] = &[
        '\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    unified.split(breaks).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_block_never_exceeds_its_budget(notebook in any_notebook(), settings in any_settings()) {
        if let Rendered::Block { text, counts } = render_snapshot(&notebook, &settings) {
            let budget = settings.tokens_max * CHARS_PER_TOKEN - settings.guidance_chars;
            prop_assert!(text.chars().count() <= budget);
            prop_assert_eq!(text.chars().count(), counts.block_chars);
            prop_assert!(counts.located || !text.contains(FILE_READER));
        }
    }

    #[test]
    fn a_block_holds_no_framing_tag_but_its_own(notebook in any_notebook(), settings in any_settings()) {
        if let Rendered::Block { text, .. } = render_snapshot(&notebook, &settings) {
            let body = text.strip_prefix(OPENING).and_then(|text| text.strip_suffix(CLOSING));
            let body = body.expect("delimiters");
            prop_assert_eq!(escape_stored_text(body), body);
        }
    }

    #[test]
    fn whatever_is_left_out_is_said(notebook in any_notebook(), settings in any_settings()) {
        if let Rendered::Block { text, counts } = render_snapshot(&notebook, &settings) {
            let nothing_shown = text.contains("not shown: use ") || text.contains("[not shown]");
            if counts.lines_dropped > 0 && !nothing_shown {
                prop_assert!(text.contains(&format!("[{} ", counts.lines_dropped)), "{}", text);
            }
            if counts.main_truncated && !nothing_shown {
                prop_assert!(text.contains("older text left out") || text.contains("newer text is"));
            }
            if (counts.files_listed < counts.files || counts.files_truncated) && !nothing_shown {
                prop_assert!(text.contains("more file") || text.contains("not listed"), "{}", text);
            }
            if counts.line_cut {
                prop_assert!(text.contains('…'));
            }
        }
    }

    #[test]
    fn the_lines_shown_are_the_last_and_the_names_the_first(
        notebook in any_notebook(), settings in any_settings(),
    ) {
        if let Rendered::Block { text, counts } = render_snapshot(&notebook, &settings) {
            prop_assert!(counts.lines_shown <= settings.lines_max);
            let content = notebook.main.map(|main| main.content).unwrap_or_default();
            let lines = if trim_end_space(&content).is_empty() { vec![] } else { shown_lines(&content) };
            prop_assert_eq!(counts.lines_shown + counts.lines_dropped, lines.len());
            if !counts.line_cut && counts.lines_shown > 0 {
                let last = lines[lines.len() - counts.lines_shown..].join("\n");
                prop_assert!(text.contains(&format!("\n{last}\n")), "{}", text);
            }
            let dropped_for_room = settings.lines_max.min(lines.len()) > counts.lines_shown;
            prop_assert!(counts.files_listed == 0 || !dropped_for_room);
        }
    }

    #[test]
    fn more_room_never_shows_less_and_less_room_never_would_have_done(
        notebook in any_notebook(), body in 0usize..600,
    ) {
        assert_one_more_character_counts(&notebook, body);
    }

    #[test]
    fn all_is_shown_where_it_fits_with_its_headings(notebook in any_notebook(), extra in 0usize..3) {
        let notebook = Notebook {
            more_names: false,
            main: notebook.main.map(|main| MainNote { part: MainPart::Whole, ..main }),
            ..notebook
        };
        let roomy = RenderSettings { lines_max: usize::MAX, ..body_of(100_000) };
        let Rendered::Block { text, counts } = render_snapshot(&notebook, &roomy) else { return Ok(()) };
        prop_assert_eq!((counts.lines_dropped, counts.files_listed), (0, notebook.names.len()));
        let delimiters = OPENING.len() + CLOSING.len();
        let exact = RenderSettings { lines_max: usize::MAX, ..body_of(counts.block_chars - delimiters + extra) };
        let exactly = render_snapshot(&notebook, &exact);
        prop_assert_eq!(exactly, Rendered::Block { text, counts });
    }
}
