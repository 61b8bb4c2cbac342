//! What every rendering must keep to, whatever its wording.

use notekeeper_domain::{
    CHARS_PER_TOKEN, MainPart, Notebook as View, RenderSettings, Rendered, render_snapshot,
};

use super::parse::{Omitted, Shown};
use crate::oracle::text::shown_lines;

/// Fewest characters of a cut line that are worth a block's room.
const CUT_LINE_CHARS_MIN: usize = 16;

/// More characters than the notices around a line or name can change by.
const NOTICE_SLACK: usize = 400;

/// A block, and what it was made from.
pub(super) struct Rendering<'a> {
    pub(super) shown: &'a Shown,
    /// The whole block.
    pub(super) text: &'a str,
    pub(super) view: &'a View,
    pub(super) settings: &'a RenderSettings,
    /// The main note as stored.
    pub(super) main: Option<&'a str>,
    /// Names of the other notes of the scope that end in `.md`, ascending.
    pub(super) names: &'a [String],
}

/// The promises that a block breaks.
pub(super) fn broken(rendering: &Rendering<'_>) -> Vec<String> {
    let Rendering {
        shown,
        text,
        view,
        settings,
        main,
        names,
    } = rendering;
    let read = main.map(|text| read_part(text, view)).unwrap_or_default();
    let lines = shown_lines(&read);
    let known = &names[..names.len().min(settings.names_max())];
    let could_show = lines.len().min(settings.lines_max);
    let budget = (settings.tokens_max * CHARS_PER_TOKEN).saturating_sub(settings.guidance_chars);
    let chars = text.chars().count();

    let mut broken = Vec::new();
    if chars > budget {
        broken.push(format!("{chars} characters exceed the budget of {budget}"));
    }
    broken.extend(wrong_lines(shown, &lines, settings.lines_max));
    broken.extend(wrong_names(shown, known, could_show));
    if !shown.is_remark {
        let partial = view
            .main
            .as_ref()
            .is_some_and(|main| main.part != MainPart::Whole);
        broken.extend(unsaid(shown, lines.len(), partial));
        broken.extend(unsaid_names(shown, known.len(), names.len()));
    }
    broken.extend(wasted_room(
        shown,
        view,
        settings,
        (could_show, known.len()),
        budget,
    ));
    broken
}

/// Lines must be the last of the note, or a good part of the very last.
fn wrong_lines(shown: &Shown, all: &[String], lines_max: usize) -> Vec<String> {
    let lines = shown.lines.as_deref().unwrap_or_default();
    let mut broken = Vec::new();
    if lines.len() > lines_max {
        broken.push(format!("{} lines are more than allowed", lines.len()));
    }
    if let ([part], true) = (lines, shown.cut) {
        let last = all.last().map_or("", String::as_str);
        let is_part = match shown.cut_at_start {
            true => last.ends_with(part),
            false => last.starts_with(part),
        };
        if !is_part || part == last {
            broken.push("a cut line is no part of the last line".to_owned());
        }
        if part.chars().count() < CUT_LINE_CHARS_MIN {
            broken.push("a line is cut to next to nothing".to_owned());
        }
    } else if !all.ends_with(lines) {
        broken.push("the lines are not the last of the note".to_owned());
    }
    broken
}

/// Names must be the first of the scope, and give way to lines.
fn wrong_names(shown: &Shown, known: &[String], lines: usize) -> Vec<String> {
    let listed = shown.listed.as_deref().unwrap_or_default();
    let mut broken = Vec::new();
    if !known.starts_with(listed) {
        broken.push("the names are not the first of the scope".to_owned());
    }
    let lost_lines = shown.cut || shown.lines.as_ref().map_or(0, Vec::len) < lines;
    if lost_lines && !listed.is_empty() {
        broken.push("a name took the place of a line".to_owned());
    }
    broken
}

/// What is left out of the main note must be said.
fn unsaid(shown: &Shown, lines: usize, partial: bool) -> Vec<String> {
    let dropped = lines - shown.lines.as_ref().map_or(0, Vec::len).min(lines);
    let mut broken = Vec::new();
    if shown.dropped != dropped {
        broken.push(format!(
            "{dropped} lines are left out, {} are said to be",
            shown.dropped
        ));
    }
    if shown.says_partial != partial {
        broken.push("it is not said, or said wrongly, that a part was not read".to_owned());
    }
    broken
}

/// What is left out of the names must be said.
fn unsaid_names(shown: &Shown, known: usize, all: usize) -> Option<String> {
    let listed = shown.listed.as_ref().map_or(0, Vec::len);
    let omitted = match known.saturating_sub(listed) {
        _ if all > known => Omitted::Unknown,
        0 => Omitted::None,
        count => Omitted::Some(count),
    };
    let said = shown.omitted;
    (said != omitted).then(|| format!("{omitted:?} of the names left out, said: {said:?}"))
}

/// The part of the main note that was read.
fn read_part(text: &str, view: &View) -> String {
    let Some(main) = &view.main else {
        return String::new();
    };
    let chars = main.content.chars().count();
    let skipped = text.chars().count() - chars;
    match main.part {
        MainPart::Whole | MainPart::Head => text.chars().take(chars).collect(),
        MainPart::Tail => text.chars().skip(skipped).collect(),
    }
}

/// Whether one more line, or with all lines one more name, would have fitted. The same notebook is
/// rendered with ever more room until it shows more: the first such block must exceed the budget.
fn wasted_room(
    shown: &Shown,
    view: &View,
    settings: &RenderSettings,
    (lines, names): (usize, usize),
    budget: usize,
) -> Option<String> {
    let listed = shown.listed.as_ref().map_or(0, Vec::len);
    let lines_shown = shown.lines.as_ref().map_or(0, Vec::len);
    if lines_shown >= lines && !shown.cut && listed >= names {
        return None;
    }
    let now = (lines_shown.saturating_sub(usize::from(shown.cut)), listed);
    let longest = view.main.iter().flat_map(|main| main.content.split('\n'));
    let longest = longest.map(|line| line.chars().count()).max().unwrap_or(0);
    // `<` takes four characters more when it is escaped.
    let reach = 5 * longest + NOTICE_SLACK;
    let found = first(reach, |extra| chars_with_more(view, settings, extra, now));
    match found {
        Some(chars) if chars <= budget => Some(format!(
            "one more line or name would fit: {chars} characters of {budget}"
        )),
        Some(_) => None,
        None => Some("no budget shows more".to_owned()),
    }
}

/// Characters of the block with `extra` characters more room, where it shows more.
fn chars_with_more(
    view: &View,
    settings: &RenderSettings,
    extra: usize,
    (lines, names): (usize, usize),
) -> Option<usize> {
    // Room grows by single characters: tokens up, guidance to make up for the rest.
    let settings = RenderSettings {
        tokens_max: settings.tokens_max + extra.div_ceil(CHARS_PER_TOKEN),
        guidance_chars: settings.guidance_chars + extra.next_multiple_of(CHARS_PER_TOKEN) - extra,
        ..settings.clone()
    };
    let Rendered::Block { counts, .. } = render_snapshot(view, &settings) else {
        return None;
    };
    let whole_lines = counts.lines_shown - usize::from(counts.line_cut);
    let more = whole_lines > lines || (whole_lines == lines && counts.files_listed > names);
    more.then_some(counts.block_chars)
}

/// What `test` says of the least number up to `limit` for which it says anything. Where it says
/// something of one number, it does so of greater ones.
fn first(limit: usize, test: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let (mut low, mut high) = (0, limit);
    let mut found = test(high)?;
    while low + 1 < high {
        let middle = low.midpoint(high);
        match test(middle) {
            Some(said) => (high, found) = (middle, said),
            None => low = middle,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use notekeeper_domain::MainNote;

    use super::{super::parse::parse, *};

    const LINES: &str = "first line\nsecond line\nthird line";

    fn view() -> View {
        View {
            main: Some(MainNote {
                content: LINES.to_owned(),
                part: MainPart::Whole,
            }),
            names: vec!["a.md".to_owned(), "b.md".to_owned()],
            more_names: false,
        }
    }

    fn settings(tokens_max: usize) -> RenderSettings {
        RenderSettings {
            tokens_max,
            guidance_chars: 0,
            lines_max: 200,
            heading: String::new(),
            reader: "read_memory".to_owned(),
            searcher: "search_memory".to_owned(),
            location: None,
            file_reader: None,
        }
    }

    fn rendered(tokens_max: usize) -> String {
        match render_snapshot(&view(), &settings(tokens_max)) {
            Rendered::Block { text, .. } => text,
            other => panic!("{other:?}"),
        }
    }

    fn broken_of(text: &str, tokens_max: usize) -> Vec<String> {
        let (view, settings) = (view(), settings(tokens_max));
        broken(&Rendering {
            shown: &parse(text, "").expect("a block"),
            text,
            view: &view,
            settings: &settings,
            main: Some(LINES),
            names: &view.names,
        })
    }

    #[test]
    fn a_block_of_the_product_breaks_no_promise_in_any_budget() {
        for tokens_max in 8..60 {
            let text = rendered(tokens_max);
            assert_eq!(broken_of(&text, tokens_max), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn each_broken_promise_is_noticed() {
        let whole = rendered(1_000);
        let edits: [(&str, &str, &str); 6] = [
            ("third line", "no line", "not the last"),
            ("\nthird line", "", "not the last"),
            ("first line\n", "", "1 lines are left out, 0 are said to be"),
            ("- a.md\n", "", "not the first"),
            ("\n- b.md", "", "of the names left out"),
            (
                "\n- b.md",
                "\n[1 more file: use search_memory]",
                "would fit",
            ),
        ];
        for (part, instead, promise) in edits {
            assert!(whole.contains(part), "{whole}");
            let broken = broken_of(&whole.replace(part, instead), 1_000);
            assert!(
                broken.iter().any(|said| said.contains(promise)),
                "{promise}: {broken:?}"
            );
        }
        let over = broken_of(&whole, 10);
        assert!(over.iter().any(|said| said.contains("exceed")), "{over:?}");
        let notice = "[1 earlier line left out: use read_memory]\n";
        let lost = broken_of(&whole.replace("first line\n", notice), 1_000);
        assert!(
            lost.iter().any(|said| said.contains("place of a line")),
            "{lost:?}"
        );
    }
}
