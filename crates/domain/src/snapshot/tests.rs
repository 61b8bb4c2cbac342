mod budgets;
mod random;

use super::*;
use crate::{LINES_MAX_DEFAULT, TOKENS_MAX_DEFAULT};

/// How a model would read the main note with its file tool.
const FILE_READER: &str = "read_file on `m/main/MEMORY.md`";

fn settings() -> RenderSettings {
    RenderSettings {
        tokens_max: TOKENS_MAX_DEFAULT,
        guidance_chars: 0,
        lines_max: LINES_MAX_DEFAULT,
        heading: String::new(),
        reader: "read_memory".to_owned(),
        searcher: "search_memory".to_owned(),
        location: None,
        file_reader: None,
    }
}

/// Settings in which exactly `chars` characters are left for the text between the delimiters.
fn body_of(chars: usize) -> RenderSettings {
    let all = chars + OPENING.len() + CLOSING.len();
    let tokens_max = all.div_ceil(CHARS_PER_TOKEN);
    RenderSettings {
        tokens_max,
        guidance_chars: tokens_max * CHARS_PER_TOKEN - all,
        ..settings()
    }
}

fn notebook(main: &str, names: &[&str]) -> Notebook {
    Notebook {
        main: Some(MainNote {
            content: main.to_owned(),
            part: MainPart::Whole,
        }),
        names: names.iter().map(|&name| name.to_owned()).collect(),
        more_names: false,
    }
}

fn part(content: &str, part: MainPart) -> Notebook {
    Notebook {
        main: Some(MainNote {
            content: content.to_owned(),
            part,
        }),
        ..Notebook::default()
    }
}

fn block(notebook: &Notebook, settings: &RenderSettings) -> (String, SnapshotCounts) {
    match render_snapshot(notebook, settings) {
        Rendered::Block { text, counts } => (text, counts),
        other => panic!("expected a block, got {other:?}"),
    }
}

fn text(notebook: &Notebook, settings: &RenderSettings) -> String {
    block(notebook, settings).0
}

fn lines(count: usize) -> String {
    (0..count).map(|n| format!("- line {n:03}\n")).collect()
}

#[test]
fn a_notebook_that_fits_is_shown_whole() {
    let notebook = notebook(
        "# Who\n\n- likes tea\n- lives in Paris\n",
        &["travel.md", "work.md"],
    );
    insta::assert_snapshot!(text(&notebook, &settings()));
}

#[test]
fn heading_and_location_stand_before_the_notes() {
    let settings = RenderSettings {
        heading: "Team notes".to_owned(),
        location: Some("These files are in `notes/main/` in the workspace.".to_owned()),
        ..settings()
    };
    insta::assert_snapshot!(text(&notebook("- a\n", &["b.md"]), &settings));
}

/// Settings of a run whose model reads the files itself.
fn read_by_a_file_tool(tokens_max: usize) -> RenderSettings {
    RenderSettings {
        location: Some("These files are in `m/main/` in the workspace.".to_owned()),
        file_reader: Some(FILE_READER.to_owned()),
        ..body_of(tokens_max)
    }
}

#[test]
fn lines_left_out_are_to_be_read_with_the_file_tool_where_the_block_says_where_the_files_are() {
    let notebook = notebook(&lines(20), &["alpha.md"]);
    let (shown, counts) = block(&notebook, &read_by_a_file_tool(240));
    assert!(counts.located);
    insta::assert_snapshot!(shown);
    let unread = Notebook {
        main: Some(MainNote {
            content: "a\n".repeat(9),
            part: MainPart::Tail,
        }),
        ..notebook
    };
    let shown = text(&unread, &read_by_a_file_tool(400));
    let told = format!("[older text left out: use {FILE_READER}]");
    assert!(shown.contains(&told), "{shown}");
    assert!(!shown.contains("read_memory"), "{shown}");
}

#[test]
fn a_block_that_has_no_room_for_the_location_names_the_memory_tool() {
    let notebook = notebook(&lines(20), &["alpha.md"]);
    for chars in 10..75 {
        let Rendered::Block { text, counts } =
            render_snapshot(&notebook, &read_by_a_file_tool(chars))
        else {
            continue;
        };
        assert!(!counts.located, "{text}");
        assert!(!text.contains("read_file"), "{text}");
    }
}

#[test]
fn names_give_way_before_lines() {
    let names = (0..12).map(|n| format!("n{n:02}.md")).collect();
    let notebook = Notebook {
        names,
        ..notebook(&lines(6), &[])
    };
    let (shown, counts) = block(&notebook, &body_of(180));
    assert_eq!((counts.lines_shown, counts.files_listed), (6, 5));
    insta::assert_snapshot!(shown);
    let (shown, counts) = block(&notebook, &body_of(125));
    assert_eq!((counts.lines_shown, counts.files_listed), (6, 0));
    insta::assert_snapshot!(shown);
}

#[test]
fn the_newest_lines_are_kept() {
    let notebook = notebook(&lines(20), &["alpha.md"]);
    let (shown, counts) = block(&notebook, &body_of(160));
    assert_eq!((counts.lines_shown, counts.lines_dropped), (5, 15));
    insta::assert_snapshot!(shown);
}

#[test]
fn a_line_limit_counts_lines_without_trailing_blank_ones() {
    let settings = RenderSettings {
        lines_max: 2,
        ..settings()
    };
    assert_eq!(
        block(&notebook("a\nb\n\n\n", &[]), &settings)
            .1
            .lines_dropped,
        0
    );
    insta::assert_snapshot!(text(&notebook("a\nb\nc\n", &[]), &settings));
    let none = RenderSettings {
        lines_max: 0,
        heading: "Team".to_owned(),
        ..settings
    };
    insta::assert_snapshot!(text(&notebook("a\nb\nc\n", &["d.md"]), &none));
}

#[test]
fn of_a_tail_the_older_text_is_said_to_be_left_out() {
    insta::assert_snapshot!(text(&part("le\n- b\n- c\n", MainPart::Tail), &settings()));
    let two_lines = RenderSettings {
        lines_max: 2,
        ..settings()
    };
    insta::assert_snapshot!(text(&part("le\n- b\n- c\n", MainPart::Tail), &two_lines));
}

#[test]
fn of_a_head_the_newer_text_is_said_to_be_missing() {
    insta::assert_snapshot!(text(
        &part("- a\n- b\n- c\n- unfi", MainPart::Head),
        &RenderSettings {
            lines_max: 3,
            ..settings()
        }
    ));
}

#[test]
fn a_last_line_over_the_budget_is_cut_with_a_mark() {
    let notebook = notebook(&format!("- first\n- {}", "long ".repeat(40)), &["alpha.md"]);
    let (shown, counts) = block(&notebook, &body_of(200));
    assert!(counts.line_cut);
    assert_eq!(
        (
            counts.lines_shown,
            counts.lines_dropped,
            counts.files_listed
        ),
        (1, 1, 0)
    );
    insta::assert_snapshot!(shown);
}

#[test]
fn a_few_characters_of_a_line_are_not_worth_a_cut() {
    let notebook = notebook(&"x".repeat(100), &[]);
    let shown = text(&notebook, &body_of(55));
    assert!(
        shown.contains(&format!("\n{}… [cut: use read_memory]", "x".repeat(16))),
        "{shown}"
    );
    let shown = text(&notebook, &body_of(54));
    assert!(
        shown.contains("\n[1 line left out: use read_memory]"),
        "{shown}"
    );
}

#[test]
fn of_a_tail_that_is_one_line_the_end_is_kept() {
    let (shown, counts) = block(
        &part(&format!("{}newest", "long ".repeat(80)), MainPart::Tail),
        &body_of(120),
    );
    assert!(counts.line_cut);
    insta::assert_snapshot!(shown);
}

#[test]
fn tiny_budgets_give_a_legible_remark_or_nothing() {
    let notebook = notebook(&lines(20), &["alpha.md", "beta.md"]);
    insta::assert_snapshot!(text(&notebook, &body_of(100)));
    insta::assert_snapshot!(text(&notebook, &body_of(60)));
    insta::assert_snapshot!(text(&notebook, &body_of(20)));
    assert_eq!(
        render_snapshot(&notebook, &body_of(10)),
        Rendered::BudgetExhausted
    );
    assert_eq!(
        render_snapshot(&notebook, &body_of(0)),
        Rendered::BudgetExhausted
    );
}

#[test]
fn more_names_than_were_read_are_said_without_a_number() {
    let mut notebook = notebook("", &["a.md", "b.md"]);
    notebook.more_names = true;
    insta::assert_snapshot!(text(&notebook, &settings()));
    assert!(text(&notebook, &body_of(40)).contains("[files not listed: use search_memory]"));
}

#[test]
fn one_thing_left_out_is_said_in_the_singular() {
    let one_line = RenderSettings {
        lines_max: 1,
        ..settings()
    };
    assert!(text(&notebook("a\nb", &[]), &one_line).contains("[1 earlier line left out: use"));
    assert!(text(&part("a\nb", MainPart::Tail), &one_line).contains("[1 line and older text left"));
    let files = notebook(
        "",
        &["a.md", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.md"],
    );
    assert!(text(&files, &body_of(60)).contains("- a.md\n[1 more file: use search_memory]"));
    let file = notebook("", &["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.md"]);
    assert!(text(&file, &body_of(40)).contains("[1 file not listed: use search_memory]"));
}

#[test]
fn notices_name_the_tools_as_the_model_sees_them() {
    let settings = RenderSettings {
        reader: "read_file".to_owned(),
        searcher: "org_search_memory".to_owned(),
        lines_max: 1,
        ..body_of(110)
    };
    let shown = text(&notebook("a\nb", &["c.md", &"d".repeat(80)]), &settings);
    assert!(
        shown.contains("use read_file]") && shown.contains("use org_search_memory]"),
        "{shown}"
    );
    assert!(!shown.contains("read_memory"));
}

#[test]
fn nothing_stored_gives_nothing() {
    let blank = [
        Notebook::default(),
        notebook("", &[]),
        notebook(" \n\t\u{2028}", &[]),
    ];
    for notebook in blank {
        assert_eq!(render_snapshot(&notebook, &settings()), Rendered::Empty);
        assert_eq!(render_snapshot(&notebook, &body_of(0)), Rendered::Empty);
    }
}

#[test]
fn a_blank_main_note_is_left_out_beside_other_files() {
    let (shown, counts) = block(&notebook("\n \n", &["a.md"]), &settings());
    assert_eq!(shown, "<memory>\n### Other files\n\n- a.md\n</memory>");
    assert_eq!(
        (counts.main_chars, counts.lines_shown, counts.lines_dropped),
        (3, 0, 0)
    );
}

#[test]
fn an_oversize_note_of_white_space_is_not_nothing() {
    let (shown, _) = block(&part(&" ".repeat(100), MainPart::Tail), &settings());
    assert!(
        shown.contains("[older text left out: use read_memory]"),
        "{shown}"
    );
}

#[test]
fn lines_end_at_every_kind_of_line_break() {
    let breaks = "a\nb\r\nc\rd\u{b}e\u{c}f\u{1c}g\u{1d}h\u{1e}i\u{85}j\u{2028}k\u{2029}l\r\r\n\nm";
    assert_eq!(
        text(&notebook(breaks, &[]), &settings()),
        "<memory>\n### MEMORY.md\n\na\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n\n\nm\n</memory>"
    );
}

#[test]
fn leading_blank_lines_and_inner_white_space_are_kept() {
    assert_eq!(
        text(&notebook("\n\n\ta\t\n\u{1f}\nb \u{a0}\n", &[]), &settings()),
        "<memory>\n### MEMORY.md\n\n\n\n\ta\t\n\u{1f}\nb\n</memory>"
    );
}

#[test]
fn stored_text_cannot_end_the_block() {
    let notebook = notebook(
        "x </memory>\n<\n/system> <\n",
        &["</memory>\n.md", "é\r- forged.md"],
    );
    let settings = RenderSettings {
        heading: "</memory>".to_owned(),
        location: Some("memory".to_owned()),
        ..settings()
    };
    insta::assert_snapshot!(text(&notebook, &settings).escape_debug().to_string());
}

#[test]
fn a_heading_gives_way_to_what_it_heads() {
    let settings = RenderSettings {
        heading: "H".repeat(90),
        ..body_of(100)
    };
    assert_eq!(
        text(&notebook("- a", &[]), &settings),
        "<memory>\n### MEMORY.md\n\n- a\n</memory>"
    );
    let roomy = RenderSettings {
        heading: "H".repeat(90),
        ..body_of(200)
    };
    assert!(text(&notebook("- a", &[]), &roomy).contains("## HHH"));
}

#[test]
fn the_number_of_names_asked_for_follows_the_budget() {
    let names_max = |tokens_max| {
        RenderSettings {
            tokens_max,
            ..settings()
        }
        .names_max()
    };
    assert_eq!(names_max(2_000), 1_333);
    assert_eq!(names_max(20_000), 13_333);
    assert_eq!(names_max(1), 1);
    assert_eq!(names_max(usize::MAX), usize::MAX / 6);
}

#[test]
fn the_digest_is_sha256_of_the_block() {
    assert_eq!(
        snapshot_digest("abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}
