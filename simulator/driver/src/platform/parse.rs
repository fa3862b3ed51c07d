//! From the text of a platform file to a [`Description`].

use super::value::{Source, Table, Value};
use super::{Description, Device, Link, PlatformError, Site, Speed, Switch};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use toml::de::DeTable;

type Result<T> = std::result::Result<T, PlatformError>;

/// What links call host memory.
pub(super) const HOST: &str = "host";
/// What a launch, copy or fill costs its caller unless the file says otherwise, in ns.
const QUEUEING: u64 = 10_000;
/// As many as `BOOMERANG_SIM_DEVICES` may ask for.
const MOST_DEVICES: usize = 64;
/// As many as `BOOMERANG_SIM_SMS` may ask for.
const MOST_MULTIPROCESSORS: u32 = 1024;

impl Description {
    /// Reads a file.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn read(file: &Path) -> Result<Description> {
        let name = file.to_string_lossy();
        let text = std::fs::read_to_string(file).map_err(|error| PlatformError {
            file: name.to_string(),
            line: 0,
            key: String::new(),
            what: format!("can't be read: {error}"),
        })?;
        Description::parse(&name, &text)
    }

    /// Reads the text of a file of that name.
    ///
    /// # Errors
    /// As [`Description::read`].
    pub fn parse(file: &str, text: &str) -> Result<Description> {
        let source = Source { file, text };
        let document = DeTable::parse(text)
            .map_err(|error| source.error(error.span().unwrap_or_default(), "", error.message()))?;
        let root = Table::new(source, "", document.get_ref(), 0..0);
        let queueing = root.get("queueing_us").map_or(Ok(QUEUEING), |value| value.microseconds())?;
        let require_costs = root.get("require_costs").map_or(Ok(false), |value| value.flag())?;
        let device_tables = root.tables("device")?;
        let devices = named(&device_tables, device, |device| &device.name)?;
        if devices.is_empty() || devices.len() > MOST_DEVICES {
            let what = format!("there must be 1 to {MOST_DEVICES}, not {}", devices.len());
            return Err(root.error(0..0, "device", what));
        }
        let switches = named(&root.tables("switch")?, switch, |switch| &switch.name)?;
        let links = links(&root.tables("link")?, &devices, &switches)?;
        all_linked(&root, &links, &devices, &device_tables)?;
        let kernels = kernels(source, &root)?;
        root.no_others()?;
        Ok(Description { file: file.to_owned(), queueing, require_costs, devices, switches, links, kernels })
    }
}

/// What `read` makes of the tables, no two of which may have the same name.
fn named<'a, T>(
    tables: &'a [Table<'a>],
    read: impl Fn(&'a Table<'a>) -> Result<T>,
    name: impl Fn(&T) -> &String,
) -> Result<Vec<T>> {
    let mut all: Vec<T> = Vec::new();
    for table in tables {
        let one = read(table)?;
        table.no_others()?;
        if name(&one) == HOST || all.iter().any(|other| name(other) == name(&one)) {
            return Err(table.require("name")?.error(format!("{:?} is taken", name(&one))));
        }
        all.push(one);
    }
    Ok(all)
}

fn device<'a>(table: &'a Table<'a>) -> Result<Device> {
    let rate = table.get("instructions_per_second").map(|value| value.positive()).transpose()?;
    Ok(Device {
        name: table.require("name")?.text()?.to_owned(),
        memory: table.require("memory")?.bytes()?,
        multiprocessors: table.require("multiprocessors")?.count(MOST_MULTIPROCESSORS)?,
        launch: table.get("launch_us").map_or(Ok(0), |value| value.microseconds())?,
        rate: rate.map(|per_second| per_second / 1e9),
    })
}

fn switch<'a>(table: &'a Table<'a>) -> Result<Switch> {
    let name = table.require("name")?.text()?.to_owned();
    Ok(Switch { name, bandwidth: table.require("bandwidth_gbs")?.positive()? })
}

fn link<'a>(table: &'a Table<'a>, switches: &[Switch]) -> Result<Link> {
    let direct = Speed {
        latency: table.require("latency_us")?.microseconds()?,
        bandwidth: table.require("bandwidth_gbs")?.positive()?,
    };
    let pageable = Speed {
        latency: table.get("pageable_latency_us").map_or(Ok(direct.latency), |v| v.microseconds())?,
        bandwidth: table.get("pageable_bandwidth_gbs").map_or(Ok(direct.bandwidth), |v| v.positive())?,
    };
    let switch = table.get("switch").map(|value| {
        let name = value.text()?;
        let place = switches.iter().position(|switch| switch.name == name);
        place.ok_or_else(|| value.error(format!("there is no switch {name:?}")))
    });
    Ok(Link { direct, pageable, switch: switch.transpose()? })
}

fn links<'a>(
    tables: &'a [Table<'a>],
    devices: &[Device],
    switches: &[Switch],
) -> Result<BTreeMap<(Site, Site), Link>> {
    let site = |value: &Value<'_>| {
        let name = value.text()?;
        if name == HOST {
            return Ok(Site::Host);
        }
        let number = devices.iter().position(|device| device.name == name);
        number.map(Site::Device).ok_or_else(|| value.error(format!("there is no device {name:?}")))
    };
    let mut links = BTreeMap::new();
    for table in tables {
        let link = link(table, switches)?;
        let (from, to) = (table.require("from")?, table.require("to")?);
        table.no_others()?;
        let ends = |value: &Value<'_>| value.one_or_more().iter().map(site).collect::<Result<Vec<Site>>>();
        let (froms, tos) = (ends(&from)?, ends(&to)?);
        let lists = froms.len() > 1 || tos.len() > 1;
        for pair in froms.iter().flat_map(|from| tos.iter().map(move |to| (*from, *to))) {
            // A list of devices linked with itself means the pairs of different ones.
            if lists && pair.0 == pair.1 {
                continue;
            }
            if links.insert(pair, link.clone()).is_some() {
                let (from, to) = (name(pair.0, devices), name(pair.1, devices));
                return Err(table.error(table.span(), "from", format!("{from} and {to} are linked already")));
            }
        }
    }
    Ok(links)
}

fn name(site: Site, devices: &[Device]) -> &str {
    match site {
        Site::Host => HOST,
        Site::Device(number) => &devices[number].name,
    }
}

/// Checks that each device has a link for each copy that it can make.
fn all_linked(
    root: &Table<'_>,
    links: &BTreeMap<(Site, Site), Link>,
    devices: &[Device],
    tables: &[Table<'_>],
) -> Result<()> {
    for (number, table) in tables.iter().enumerate() {
        let here = Site::Device(number);
        let others = std::iter::once(Site::Host).chain((0..devices.len()).map(Site::Device));
        for pair in others.flat_map(|other| [(other, here), (here, other)]) {
            if !links.contains_key(&pair) {
                let (from, to) = (name(pair.0, devices), name(pair.1, devices));
                return Err(root.error(table.span(), "link", format!("none leads from {from} to {to}")));
            }
        }
    }
    Ok(())
}

fn kernels<'a>(source: Source<'a>, root: &'a Table<'a>) -> Result<HashMap<String, u64>> {
    let Some(value) = root.get("kernels") else { return Ok(HashMap::new()) };
    let toml::de::DeValue::Table(table) = value.value.get_ref() else {
        return Err(value.error("must be a table, [kernels]"));
    };
    let table = Table::new(source, "kernels", table, value.value.span());
    table.all().map(|value| Ok((value.key.to_owned(), value.microseconds()?))).collect()
}
