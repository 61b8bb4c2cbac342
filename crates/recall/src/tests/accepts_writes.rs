//! Which sources accept writes: a test for each cell of the table.

use std::sync::Arc;

use crate::{
    CacheOptions, CachedSource, CompactedSource, CompositeOptions, CompositeSource, HeadCompactor,
    LEG_TIMEOUT_DEFAULT, OnWrite, ReadOnlySource, ScopedSource, SequentialSource, Source,
    fake::FakeSource,
};

fn writable() -> Arc<dyn Source> {
    Arc::new(FakeSource::new("writable"))
}

fn closed() -> Arc<dyn Source> {
    Arc::new(ReadOnlySource::new(
        Arc::new(FakeSource::new("closed")),
        OnWrite::Ignore,
    ))
}

fn composite(legs: Vec<Arc<dyn Source>>) -> Arc<dyn Source> {
    Arc::new(CompositeSource::new("all", legs, CompositeOptions::default()).unwrap())
}

fn sequential(legs: Vec<Arc<dyn Source>>) -> Arc<dyn Source> {
    Arc::new(SequentialSource::new("chain", legs, LEG_TIMEOUT_DEFAULT).unwrap())
}

fn scoped(inner: Arc<dyn Source>) -> Arc<dyn Source> {
    Arc::new(ScopedSource::new(inner))
}

fn cached(inner: Arc<dyn Source>) -> Arc<dyn Source> {
    Arc::new(CachedSource::new(inner, CacheOptions::default()).unwrap())
}

fn compacted(inner: Arc<dyn Source>) -> Arc<dyn Source> {
    let head = HeadCompactor::new(100).unwrap();
    Arc::new(CompactedSource::new(inner, Arc::new(head), None).unwrap())
}

#[test]
fn a_source_accepts_writes_unless_it_says_otherwise() {
    assert!(writable().accepts_writes());
}

#[test]
fn scoped_accepts_them_where_the_inner_source_does() {
    assert!(scoped(writable()).accepts_writes());
    assert!(!scoped(closed()).accepts_writes());
}

#[test]
fn cached_accepts_them_where_the_inner_source_does() {
    assert!(cached(writable()).accepts_writes());
    assert!(!cached(closed()).accepts_writes());
}

#[test]
fn compacted_accepts_them_where_the_inner_source_does() {
    assert!(compacted(writable()).accepts_writes());
    assert!(!compacted(closed()).accepts_writes());
}

#[test]
fn composite_accepts_them_where_any_leg_does() {
    assert!(composite(vec![writable()]).accepts_writes());
    assert!(composite(vec![closed(), writable()]).accepts_writes());
    assert!(!composite(vec![closed()]).accepts_writes());
}

#[test]
fn sequential_accepts_them_where_the_first_leg_does_whatever_comes_behind() {
    assert!(sequential(vec![writable(), closed()]).accepts_writes());
    assert!(!sequential(vec![closed(), writable()]).accepts_writes());
}

#[test]
fn read_only_never_accepts_them() {
    for policy in [OnWrite::Refuse, OnWrite::Ignore] {
        assert!(!ReadOnlySource::new(writable(), policy).accepts_writes());
    }
}

#[test]
fn the_marker_goes_through_any_nesting() {
    assert!(!scoped(cached(compacted(closed()))).accepts_writes());
    assert!(scoped(cached(compacted(writable()))).accepts_writes());
    assert!(!composite(vec![composite(vec![scoped(closed())])]).accepts_writes());
    assert!(!sequential(vec![composite(vec![closed()]), writable()]).accepts_writes());
    assert!(composite(vec![sequential(vec![closed(), writable()]), writable()]).accepts_writes());
}
