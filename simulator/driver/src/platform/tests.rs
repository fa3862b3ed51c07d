use super::*;
use proptest::prelude::*;
use std::path::Path;

const GOOD: &str = r#"queueing_us = 2.5
require_costs = true
[[device]]
name = "a"
memory = "2G"
multiprocessors = 8
launch_us = 4
instructions_per_second = 16e9
[[device]]
name = "b"
memory = "1G"
multiprocessors = 4
[[switch]]
name = "bridge"
bandwidth_gbs = 15
[[link]]
from = "host"
to = ["a", "b"]
latency_us = 1.5
bandwidth_gbs = 10
pageable_latency_us = 4
switch = "bridge"
[[link]]
from = ["a", "b"]
to = "host"
latency_us = 1.5
bandwidth_gbs = 10
pageable_bandwidth_gbs = 5
[[link]]
from = ["a", "b"]
to = ["a", "b"]
latency_us = 1
bandwidth_gbs = 100
[[link]]
from = "a"
to = "a"
latency_us = 0
bandwidth_gbs = 1000
[[link]]
from = "b"
to = "b"
latency_us = 0
bandwidth_gbs = 1000
[kernels]
"main$_omp_fn$0" = 12.5
"#;

/// The error for a file in which a line has been replaced.
fn complaint(line: &str, instead: &str) -> String {
    assert!(GOOD.contains(line), "{line}");
    let text = GOOD.replacen(line, instead, 1);
    Description::parse("p.toml", &text).expect_err(instead).to_string()
}

#[test]
fn a_platform_is_what_its_file_says() {
    let platform = Description::parse("p.toml", GOOD).unwrap();
    assert_eq!((platform.queueing, platform.require_costs), (2_500, true));
    assert_eq!((platform.devices[0].launch, platform.devices[0].rate), (4_000, Some(16.0)));
    assert_eq!((platform.devices[1].memory, platform.devices[1].rate), (1 << 30, None));
    assert_eq!(platform.kernels["main$_omp_fn$0"], 12_500);
    let (host, a, b) = (Site::Host, Site::Device(0), Site::Device(1));
    let up = &platform.links[&(host, b)];
    assert_eq!(up.switch, Some(0));
    assert_eq!(up.pageable, Speed { latency: 4_000, bandwidth: 10.0 });
    let down = &platform.links[&(a, host)];
    assert_eq!(down.switch, None);
    assert_eq!(down.pageable, Speed { latency: 1_500, bandwidth: 5.0 });
    assert_eq!(platform.links[&(a, a)].direct.bandwidth, 1000.0, "a list linked with itself leaves this out");
    assert_eq!(platform.links.len(), 8);
}

#[test]
fn queueing_takes_10_microseconds_unless_the_file_says_otherwise() {
    let platform = Description::parse("p.toml", &GOOD.replace("queueing_us = 2.5", "")).unwrap();
    assert_eq!(platform.queueing, 10_000);
}

#[test]
fn every_wrong_value_is_named_with_file_line_and_key() {
    for (line, instead, expected) in [
        (
            "latency_us = 1.5",
            "latency_us = -1.5",
            "p.toml:19: link.latency_us: must be a number of microseconds from 0 to a day's, not -1.5",
        ),
        (
            "bandwidth_gbs = 10",
            "bandwidth_gbs = -10",
            "p.toml:20: link.bandwidth_gbs: must be a number above 0, not -10",
        ),
        (
            "bandwidth_gbs = 15",
            "bandwidth_gbs = 0",
            "p.toml:15: switch.bandwidth_gbs: must be a number above 0, not 0",
        ),
        (
            "bandwidth_gbs = 15",
            "bandwidth_gbs = nan",
            "p.toml:15: switch.bandwidth_gbs: must be a number above 0, not nan",
        ),
        (
            "multiprocessors = 8",
            "multiprocessors = 1.5",
            "p.toml:6: device.multiprocessors: must be a whole number from 1 to 1024, not 1.5",
        ),
        (
            "memory = \"2G\"",
            "memory = \"2X\"",
            "p.toml:5: device.memory: must be a string such as \"8G\" (bytes, or a number with K, M, G or T), at least \"1M\", not \"2X\"",
        ),
        (
            "require_costs = true",
            "require_costs = 1",
            "p.toml:2: require_costs: must be true or false, not 1",
        ),
        ("switch = \"bridge\"", "switch = \"bride\"", "p.toml:22: link.switch: there is no switch \"bride\""),
        ("to = \"host\"", "to = \"hist\"", "p.toml:25: link.to: there is no device \"hist\""),
        ("name = \"b\"", "name = \"a\"", "p.toml:10: device.name: \"a\" is taken"),
        (
            "\"main$_omp_fn$0\" = 12.5",
            "\"main$_omp_fn$0\" = \"fast\"",
            "p.toml:45: kernels.main$_omp_fn$0: must be a number of microseconds from 0 to a day's, not \"fast\"",
        ),
        ("[kernels]", "[[kernels]]", "p.toml:44: kernels: must be a table, [kernels]"),
    ] {
        assert_eq!(complaint(line, instead), expected);
    }
}

#[test]
fn every_unknown_key_is_named_with_file_line_and_table() {
    for (line, instead, expected) in [
        ("queueing_us = 2.5", "queuing_us = 2.5", "p.toml:1: queuing_us: is not known"),
        ("launch_us = 4", "lunch_us = 4", "p.toml:7: device.lunch_us: is not known"),
        ("pageable_latency_us = 4", "pageable_latency = 4", "p.toml:21: link.pageable_latency: is not known"),
        ("name = \"bridge\"", "name = \"bridge\"\nports = 2", "p.toml:15: switch.ports: is not known"),
        ("[kernels]", "[kernel]", "p.toml:44: kernel: is not known"),
    ] {
        assert_eq!(complaint(line, instead), expected);
    }
}

#[test]
fn whatever_is_missing_is_named() {
    for (line, instead, expected) in [
        ("memory = \"2G\"\n", "", "p.toml:3: device.memory: is missing"),
        ("latency_us = 1.5\n", "", "p.toml:16: link.latency_us: is missing"),
        (
            "from = [\"a\", \"b\"]\nto = \"host\"",
            "from = \"a\"\nto = \"host\"",
            "p.toml:9: link: none leads from b to host",
        ),
        (
            "from = \"b\"\nto = \"b\"",
            "from = \"host\"\nto = \"host\"",
            "p.toml:9: link: none leads from b to b",
        ),
    ] {
        assert_eq!(complaint(line, instead), expected);
    }
    let nothing = Description::parse("p.toml", "").unwrap_err().to_string();
    assert_eq!(nothing, "p.toml:1: device: there must be 1 to 64, not 0");
}

#[test]
fn two_links_for_the_same_copies_are_refused() {
    let error = complaint("from = \"b\"\nto = \"b\"", "from = \"a\"\nto = \"a\"");
    assert_eq!(error, "p.toml:39: link.from: a and a are linked already");
}

#[test]
fn what_is_no_toml_and_what_is_no_file_is_told() {
    let error = complaint("name = \"b\"", "name = b");
    assert!(error.starts_with("p.toml:10: "), "{error}");
    let error = Description::read(Path::new("/nonexistent/p.toml")).unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent/p.toml: can't be read: "), "{error}");
}

#[test]
fn the_platforms_that_are_shipped_can_be_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("platforms");
    for file in std::fs::read_dir(folder).unwrap() {
        Description::read(&file.unwrap().path()).unwrap();
    }
}

proptest! {
    #[test]
    fn whatever_is_cut_out_or_put_in_is_read_or_refused(
        from in 0..GOOD.len(),
        length in 0_usize..40,
        instead in "[-\\[\\]=\"#0-9a-z.\n ]{0,6}",
    ) {
        let to = (from + length).min(GOOD.len());
        let text = [&GOOD[..from], &instead, &GOOD[to..]].concat();
        if let Err(error) = Description::parse("p.toml", &text) {
            prop_assert!(error.line >= 1 && error.line <= text.lines().count() + 1, "{}", error);
        }
    }
}
