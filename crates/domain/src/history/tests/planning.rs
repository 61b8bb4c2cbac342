use proptest::prelude::*;

use super::random::{conversation, pairs};
use crate::{
    HistoryPolicy, HistoryView, MessageOutline, SummaryMark, SummaryPolicy, TokensPolicy,
    WindowPolicy, check_policies, plan,
};

/// Outlines from letters: `u` a user, `a` an answer, `c` a call, `r` its result, `s` the system.
/// Each has ten tokens, and all calls the same id.
fn outlines(letters: &str) -> Vec<MessageOutline> {
    let outline = |(position, letter): (u64, char)| MessageOutline {
        position,
        role: match letter {
            'u' => "user",
            'a' | 'c' => "assistant",
            'r' => "tool",
            's' => "system",
            other => panic!("{other}"),
        }
        .to_owned(),
        tokens: 10,
        calls: (letter == 'c')
            .then(|| "call_0".to_owned())
            .into_iter()
            .collect(),
        results: (letter == 'r')
            .then(|| "call_0".to_owned())
            .into_iter()
            .collect(),
        prompt: letter == 'u',
    };
    (0..).zip(letters.chars()).map(outline).collect()
}

fn messages(most: u64) -> HistoryPolicy {
    HistoryPolicy::Window(WindowPolicy {
        messages: Some(most),
        ..WindowPolicy::default()
    })
}

fn turns(most: u64) -> HistoryPolicy {
    HistoryPolicy::Window(WindowPolicy {
        turns: Some(most),
        ..WindowPolicy::default()
    })
}

fn tokens(max_tokens: u64) -> HistoryPolicy {
    HistoryPolicy::Tokens(TokensPolicy { max_tokens })
}

fn summary_over_messages(over: u64, keep: u64) -> HistoryPolicy {
    HistoryPolicy::Summary(SummaryPolicy {
        over_messages: Some(over),
        keep_messages: Some(keep),
        ..SummaryPolicy::default()
    })
}

fn summary_over_tokens(over: u64, keep: u64) -> HistoryPolicy {
    HistoryPolicy::Summary(SummaryPolicy {
        over_tokens: Some(over),
        keep_messages: Some(keep),
        ..SummaryPolicy::default()
    })
}

/// Where what is sent of a new conversation begins.
fn from(policies: &[HistoryPolicy], letters: &str) -> u64 {
    check_policies(policies).unwrap();
    let plan = plan(policies, &outlines(letters), &HistoryView::default());
    assert_eq!(plan.summarize, None);
    assert_eq!(plan.view.base, plan.view.from);
    plan.view.from
}

/// The range of the summary that is due.
fn due(policies: &[HistoryPolicy], letters: &str, view: HistoryView) -> Option<(u64, u64)> {
    check_policies(policies).unwrap();
    let plan = plan(policies, &outlines(letters), &view);
    let range = plan.summarize.map(|order| order.range);
    range.map(|range| (range.start, range.end))
}

#[test]
fn without_policies_all_is_sent() {
    assert_eq!(from(&[], "uauaua"), 0);
    assert_eq!(from(&[messages(6)], "uauaua"), 0);
    assert_eq!(from(&[messages(1)], ""), 0);
}

#[test]
fn a_window_begins_at_a_prompt_and_never_holds_more() {
    assert_eq!(from(&[messages(4)], "uauaua"), 2);
    assert_eq!(from(&[messages(3)], "uauaua"), 4);
    // An answer without its prompt isn't sent, though there would be room.
    assert_eq!(from(&[messages(5)], "uauaua"), 2);
    assert_eq!(from(&[messages(3)], "uaaaasua"), 6);
}

#[test]
fn the_current_turn_is_sent_whatever_it_comes_to() {
    for policy in [messages(1), tokens(1), turns(1)] {
        assert_eq!(from(std::slice::from_ref(&policy), "uaucrcrcr"), 2);
        assert_eq!(from(&[policy], "ucrcrcr"), 0);
    }
}

#[test]
fn a_window_of_turns_counts_from_prompt_to_prompt() {
    assert_eq!(from(&[turns(2)], "uaucrauau"), 6);
    assert_eq!(from(&[turns(3)], "uaucrauau"), 2);
    // What comes before the first prompt is a turn.
    assert_eq!(from(&[turns(2)], "aauaua"), 2);
    assert_eq!(from(&[turns(3)], "aauaua"), 0);
}

#[test]
fn a_budget_counts_the_tokens_of_what_is_sent_and_of_the_summary() {
    assert_eq!(from(&[tokens(60)], "uauaua"), 0);
    assert_eq!(from(&[tokens(59)], "uauaua"), 2);
    let view = HistoryView::default().summarized(2, 25);
    let sent = |max_tokens| {
        plan(&[tokens(max_tokens)], &outlines("uauauaua"), &view)
            .view
            .from
    };
    assert_eq!(sent(85), 2);
    assert_eq!(sent(84), 4);
    assert_eq!(sent(64), 6);
    assert_eq!(sent(1), 6);
}

#[test]
fn nothing_is_cut_between_a_call_and_its_result_that_came_after_another_prompt() {
    // A second writer's prompts came while the call was under way.
    assert_eq!(from(&[messages(2)], "uaucuuaurau"), 10);
    assert_eq!(from(&[messages(2)], "uaucuuaura"), 2);
    assert_eq!(from(&[messages(2)], "uacuaura"), 0);
}

#[test]
fn a_call_that_never_gets_its_result_holds_nothing_back() {
    assert_eq!(from(&[messages(2)], "ucuaucraua"), 8);
    assert_eq!(from(&[messages(4)], "ucuaucraua"), 8);
    assert_eq!(from(&[messages(6)], "ucuaucraua"), 4);
}

#[test]
fn without_any_prompt_a_window_begins_at_anything_but_a_result() {
    assert_eq!(from(&[messages(2)], "aaaaaa"), 4);
    assert_eq!(from(&[messages(2)], "aacrcr"), 4);
    assert_eq!(from(&[messages(1)], "aacrcr"), 4);
    assert_eq!(from(&[messages(3)], "aacrrr"), 2);
    assert_eq!(from(&[messages(1)], "rrrr"), 0);
}

#[test]
fn a_summary_is_due_over_its_threshold_and_leaves_the_latest_messages() {
    let policies = [summary_over_messages(8, 4)];
    let new = HistoryView::default();
    assert_eq!(due(&policies, "uauauaua", new), None);
    assert_eq!(due(&policies, "uauauauau", new), Some((0, 4)));
    assert_eq!(
        due(&[summary_over_tokens(80, 4)], "uauauauau", new),
        Some((0, 4))
    );
    assert_eq!(
        due(&[summary_over_tokens(80, 2)], "uauauauau", new),
        Some((0, 6))
    );
    // The next one begins where this one ended, and waits until there is as much again.
    let view = new.summarized(4, 7);
    assert_eq!(due(&policies, "uauauauau", view), None);
    assert_eq!(due(&policies, "uauauauauaua", view), None);
    assert_eq!(due(&policies, "uauauauauauau", view), Some((4, 8)));
}

#[test]
fn fewer_messages_are_kept_where_they_hold_nearly_as_much_as_the_threshold() {
    let policies = [summary_over_tokens(60, 6)];
    assert_eq!(
        due(&policies, "uauauaua", HistoryView::default()),
        Some((0, 4))
    );
}

#[test]
fn a_summary_of_little_beside_a_large_turn_waits_until_it_is_worth_while() {
    let policies = [summary_over_tokens(100, 2)];
    let new = HistoryView::default();
    assert_eq!(due(&policies, "uaucrcrcrcrcrcr", new), None);
    assert_eq!(due(&policies, "uauaucrcrcrcrcrcr", new), Some((0, 4)));
    // A turn that is over the threshold by itself can't be summarised while it is the current one.
    assert_eq!(due(&policies, "ucrcrcrcrcrcr", new), None);
    assert_eq!(due(&policies, "ucrcrcrcrcrcru", new), Some((0, 13)));
}

/// The ranges of one summary after another, as long as one is due.
fn all_due(policies: &[HistoryPolicy], all: &[MessageOutline]) -> Vec<(u64, u64)> {
    let mut view = HistoryView::default();
    let mut ranges = Vec::new();
    loop {
        let plan = plan(policies, all, &view);
        let Some(order) = plan.summarize else {
            return ranges;
        };
        assert!(order.range.start == plan.view.base && !order.range.is_empty());
        ranges.push((order.range.start, order.range.end));
        view = plan.view.summarized(order.range.end, 100);
    }
}

#[test]
fn what_has_gathered_is_summarised_in_parts_that_one_request_holds() {
    // 2,000 messages are the bound here; three quarters of the last threshold are left as they are.
    let many = outlines(&"ucra".repeat(2_500));
    assert_eq!(
        all_due(&[summary_over_messages(100, 30)], &many),
        [
            (0, 2_000),
            (2_000, 4_000),
            (4_000, 6_000),
            (6_000, 8_000),
            (8_000, 9_968)
        ]
    );
    // And 75,000 tokens here: a part ends at the last prompt before.
    let mut long = outlines(&"ucra".repeat(100));
    long.iter_mut().for_each(|outline| outline.tokens = 1_000);
    assert_eq!(
        all_due(&[summary_over_tokens(60_000, 4)], &long),
        [(0, 72), (72, 144), (144, 216), (216, 288), (288, 360)]
    );
    assert_eq!(
        all_due(&[summary_over_tokens(6_000, 4)], &long).last(),
        Some(&(360, 396))
    );
}

#[test]
fn an_exchange_that_is_over_the_bound_by_itself_is_summarised_as_a_whole_and_alone() {
    let policies = [summary_over_messages(8, 2)];
    let exchange = format!("u{}a", "cr".repeat(1_500));
    let all = outlines(&format!("ua{exchange}uaua"));
    assert_eq!(all_due(&policies, &all), [(0, 2), (2, 3_004)]);
    // Parts end at prompts alone, also where the tokens of one message are too many.
    let mut all = outlines("ucrauauauaua");
    all[2].tokens = 100_000;
    assert_eq!(all_due(&policies, &all), [(0, 4)]);
}

#[test]
fn what_a_window_before_a_summary_drops_is_never_summarised() {
    let policies = [messages(6), summary_over_messages(4, 2)];
    let outlines = outlines("uauauauau");
    let plan = plan(&policies, &outlines, &HistoryView::default());
    assert_eq!((plan.view.base, plan.view.from), (4, 4));
    assert_eq!(plan.summarize.unwrap().range, 4..6);
}

#[test]
fn what_a_window_after_a_summary_holds_back_is_covered_by_the_next_one() {
    let policies = [summary_over_messages(8, 4), messages(2)];
    let view = HistoryView::default();
    let view = plan(&policies, &outlines("uaua"), &view).view;
    assert_eq!((view.base, view.from), (0, 2));
    let all = outlines("uauauauau");
    let due = plan(&policies, &all, &view);
    assert_eq!((due.view.base, due.view.from), (0, 8));
    assert_eq!(due.summarize.unwrap().range, 0..4);
    let after = plan(&policies, &all[4..], &due.view.summarized(4, 9)).view;
    assert_eq!((after.base, after.from), (4, 8));
    assert_eq!(
        after.summary,
        Some(SummaryMark {
            through: 4,
            tokens: 9
        })
    );
}

#[test]
fn what_is_only_held_back_is_not_dropped_by_a_window_before_the_summary_later_on() {
    let policies = [messages(8), summary_over_messages(8, 4), messages(2)];
    let view = plan(&policies, &outlines("uaua"), &HistoryView::default()).view;
    assert_eq!((view.base, view.from), (0, 2));
    let view = plan(&policies, &outlines("uauaua"), &view).view;
    assert_eq!((view.base, view.from), (0, 4));
}

#[test]
fn a_budget_after_a_summary_holds_where_no_summary_can_be_had() {
    let policies = [summary_over_tokens(80, 2), tokens(100)];
    let mut view = HistoryView::default();
    let all = outlines(&"ua".repeat(40));
    for count in (1..=all.len()).step_by(2) {
        let plan = plan(&policies, &all[..count], &view);
        view = plan.view;
        let sent = all[..count]
            .iter()
            .filter(|outline| outline.position >= view.from);
        assert!(sent.map(|outline| outline.tokens).sum::<u64>() <= 100);
    }
    assert_eq!(view.base, 0);
    let due = plan(&policies, &all, &view).summarize.unwrap();
    assert_eq!(due.range, 0..78);
}

#[test]
fn a_conversation_that_was_cleared_loses_its_summary_and_goes_on() {
    let view = HistoryView::default().summarized(4, 9);
    assert_eq!(view.starting_at(4), view);
    assert_eq!(view.starting_at(0), view);
    let cleared = view.starting_at(11);
    assert_eq!(
        (cleared.base, cleared.from, cleared.summary),
        (11, 11, None)
    );
    assert_eq!(
        cleared
            .summarized(13, 2)
            .starting_at(13)
            .summary
            .unwrap()
            .through,
        13
    );
}

#[test]
fn a_view_reads_back_from_its_json_and_one_that_says_little_is_a_new_one() {
    let view = HistoryView::default().summarized(4, 9);
    let json = serde_json::to_string(&view).unwrap();
    insta::assert_snapshot!(json, @r#"{"base":4,"from":4,"summary":{"through":4,"tokens":9}}"#);
    assert_eq!(serde_json::from_str::<HistoryView>(&json).unwrap(), view);
    let read = serde_json::from_str::<HistoryView>("{\"later_field\":1}");
    assert_eq!(read.unwrap(), HistoryView::default());
}

#[test]
fn a_long_conversation_is_planned_in_linear_time() {
    crate::deadline::within_a_minute(|| {
        let all = outlines(&"ucrcrcra".repeat(50_000));
        let policies = [
            summary_over_messages(20_000, 40),
            tokens(100_000),
            messages(40),
        ];
        let plan = plan(&policies, &all, &HistoryView::default());
        assert!(plan.summarize.is_some());
        // Calls of one id without end, none answered, and then all of them.
        let open = outlines(&("u".to_owned() + &"c".repeat(100_000) + &"r".repeat(100_000) + "u"));
        super::super::plan(&policies, &open, &HistoryView::default());
    });
}

fn any_policies() -> impl Strategy<Value = Vec<HistoryPolicy>> {
    let cut = prop_oneof![
        (1_u64..30).prop_map(messages),
        (1_u64..8).prop_map(turns),
        (1_u64..2_000).prop_map(tokens),
    ];
    let summary = (
        prop::option::of(4_u64..1_500),
        prop::option::of(4_u64..40),
        prop::option::of(0_u64..30),
    )
        .prop_map(|(over_tokens, over_messages, keep_messages)| {
            let over_messages = over_messages.or(over_tokens.is_none().then_some(12));
            let most = over_messages.map_or(u64::MAX, |over| over / 2);
            HistoryPolicy::Summary(SummaryPolicy {
                over_tokens,
                over_messages,
                keep_messages: keep_messages.map(|keep| keep.min(most)),
                ..SummaryPolicy::default()
            })
        });
    let cuts = || prop::collection::vec(cut.clone(), 0..3);
    (cuts(), prop::option::of(summary), cuts()).prop_map(|(before, summary, after)| {
        let policies: Vec<HistoryPolicy> = before.into_iter().chain(summary).chain(after).collect();
        check_policies(&policies).unwrap();
        policies
    })
}

/// What is left of a conversation from an index on.
fn rest(messages: &[MessageOutline], from: usize) -> (u64, u64) {
    let rest = &messages[from..];
    (
        rest.len() as u64,
        rest.iter().map(|outline| outline.tokens).sum(),
    )
}

/// Where a conversation may be cut after `base`, by trying each place.
fn cuts(messages: &[MessageOutline], base: usize) -> Vec<usize> {
    let pairs = pairs(messages);
    let latest_prompt = messages.iter().rposition(|outline| outline.prompt);
    let latest_prompt = latest_prompt.filter(|&prompt| prompt >= base);
    let parts = |cut: usize| {
        let mut pairs = pairs.iter().filter(|(_, (call, _))| *call >= base);
        pairs.any(|&(result, (call, _))| call < cut && cut <= result)
    };
    let leads = |index: usize| match latest_prompt {
        Some(latest) => messages[index].prompt && index <= latest,
        None => messages[index].results.is_empty(),
    };
    (base + 1..messages.len())
        .filter(|&cut| leads(cut) && !parts(cut))
        .collect()
}

fn summary_of(policies: &[HistoryPolicy]) -> Option<&SummaryPolicy> {
    policies.iter().find_map(|policy| match policy {
        HistoryPolicy::Summary(summary) => Some(summary),
        _ => None,
    })
}

/// Whether these are at most so many quarters of the thresholds.
fn at_most(policy: &SummaryPolicy, (messages, tokens): (u64, u64), quarters: u64) -> bool {
    let fits = |over: u64, sum| sum <= over - (4 - quarters) * (over / 4);
    policy.over_messages.is_none_or(|over| fits(over, messages))
        && policy.over_tokens.is_none_or(|over| fits(over, tokens))
}

/// What must hold of one plan.
fn check_plan(
    policies: &[HistoryPolicy],
    all: &[MessageOutline],
    before: HistoryView,
) -> Result<HistoryView, TestCaseError> {
    let plan = plan(policies, all, &before);
    let view = plan.view;
    prop_assert!(before.base <= view.base && before.from <= view.from && view.base <= view.from);
    prop_assert_eq!(view.summary, before.summary);

    let first = all.first().map_or(0, |outline| outline.position);
    let index = |position: u64| usize::try_from(position.saturating_sub(first)).unwrap();
    let allowed = cuts(all, index(before.base));
    for (old, new) in [(before.from, view.from), (before.base, view.base)] {
        if old != new {
            prop_assert!(allowed.contains(&index(new)), "{new} of {allowed:?}");
        }
    }
    if summary_of(policies).is_none() {
        prop_assert_eq!(view.base, view.from);
    }

    // Outlines before `base` make no difference, and a plan on a plan changes nothing.
    let needed = &all[index(before.base).min(all.len())..];
    prop_assert_eq!(&super::super::plan(policies, needed, &before), &plan);
    prop_assert_eq!(&super::super::plan(policies, all, &view), &plan);

    // The last policy has its way, as far as it can.
    let sent = rest(all, index(view.from).min(all.len()));
    let summary_tokens = before.summary.map_or(0, |summary| summary.tokens);
    let fits = match policies.last() {
        Some(HistoryPolicy::Window(window)) => window.messages.is_none_or(|most| sent.0 <= most),
        Some(HistoryPolicy::Tokens(tokens)) => sent.1 + summary_tokens <= tokens.max_tokens,
        _ => true,
    };
    let latest = cuts(all, index(view.base)).last().copied();
    prop_assert!(fits || latest.is_none_or(|cut| cut <= index(view.from)));

    let Some(policy) = summary_of(policies) else {
        prop_assert_eq!(plan.summarize, None);
        return Ok(view);
    };
    let base = index(view.base).min(all.len());
    let waiting = rest(all, base);
    let latest = cuts(all, base).last().copied();
    let Some(order) = plan.summarize else {
        // None is due, or there is too little that could be summarised.
        let most = latest.map_or((0, 0), |cut| {
            let left = rest(all, cut);
            (waiting.0 - left.0, waiting.1 - left.1)
        });
        let little = policy.over_messages.is_none_or(|over| most.0 < over / 4)
            && policy.over_tokens.is_none_or(|over| most.1 < over / 4);
        prop_assert!(at_most(policy, waiting, 4) || little);
        return Ok(view);
    };
    prop_assert_eq!(order.policy, policy);
    prop_assert_eq!(order.range.start, view.base);
    let upto = index(order.range.end);
    prop_assert!(cuts(all, base).contains(&upto));
    prop_assert!(!at_most(policy, waiting, 4));
    let left = rest(all, upto);
    prop_assert!(at_most(policy, left, 3) || latest == Some(upto));
    let (messages, tokens) = (waiting.0 - left.0, waiting.1 - left.1);
    prop_assert!(
        policy
            .over_messages
            .is_some_and(|over| messages >= over / 4)
            || policy.over_tokens.is_some_and(|over| tokens >= over / 4)
    );
    // Once it is made, no other is due, whatever it comes to.
    let made = view.summarized(order.range.end, 50);
    let next = super::super::plan(policies, all, &made);
    prop_assert_eq!(next.summarize, None);
    prop_assert_eq!(next.view.base, made.base);
    Ok(view)
}

proptest! {
    #[test]
    fn plans_hold_what_they_promise_while_a_conversation_grows(
        all in conversation(3),
        policies in any_policies(),
        batches in prop::collection::vec((1_usize..7, any::<bool>(), 1_u64..300), 1..60),
    ) {
        let mut view = HistoryView::default().starting_at(3);
        let mut count = 0;
        let mut summarised = 0;
        for (batch, can_summarise, tokens) in batches {
            count = all.len().min(count + batch);
            let before = view;
            view = check_plan(&policies, &all[..count], before)?;
            let order = plan(&policies, &all[..count], &before).summarize;
            if let Some(order) = order.filter(|_| can_summarise) {
                prop_assert!(order.range.start >= summarised && !order.range.is_empty());
                summarised = order.range.end;
                view = check_plan(&policies, &all[..count], view.summarized(summarised, tokens))?;
            }
        }
    }

    #[test]
    fn the_plan_of_a_whole_conversation_holds_what_it_promises(
        all in conversation(0), policies in any_policies(),
    ) {
        check_plan(&policies, &all, HistoryView::default())?;
    }
}
