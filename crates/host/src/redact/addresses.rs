//! IP addresses, and the names of machines in addresses.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::names::is_public;
use super::{HIDDEN, Redactor, listed, pattern};

/// Of https and http a name with a dot; of the others any: `tcp://bastion:2375`, `ssh://login@gpu`.
static URL_HOST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(https?://(?:\*\*\*@)?)([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)",
        r"|((?:tcp|ssh|socks[45]h?)://(?:\*\*\*@)?)([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)"
    ))
});
/// Names that only a network of its owner has.
static PRIVATE_NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9-]+)*",
        r"\.(?:corp\.[a-z]+|corp|home|hpc|internal|intern|intra|intranet|lab|lan|lcl|local",
        r"|localdomain|private)\b"
    ))
});
static EMAIL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b[A-Za-z0-9_.+-]+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})\b"));
static IPV4: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"));
static IPV6: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}"));

/// Whether four numbers are a version: `==12.8.4.1`, `cublas_cu12-12.8.4.1-py3`, `9.1.0.70-1`,
/// `libcublas.so.12.8.4.1`, `x-12.8.4.1.dist-info`. `10.0.0.1-10.0.0.9` are addresses.
fn is_version(text: &str, found: &regex::Captures<'_>) -> bool {
    const ENDS: &[&str] = &[
        "dist-info",
        "egg",
        "so",
        "tar",
        "whl",
        "json",
        "list",
        "conda",
        "deb",
        "rpm",
        "tgz",
        "el",
        "x86_64",
    ];
    let span = found.get(0).map_or(0..0, |whole| whole.range());
    let (before, after) = (&text[..span.start], &text[span.end..]);
    let rest = after.strip_prefix(['-', '+']).unwrap_or_default();
    let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').next().unwrap_or_default();
    let more = !word.is_empty() && word.matches('.').count() < 3;
    let file = after.strip_prefix('.').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) || ENDS.iter().any(|end| rest.starts_with(end))
    });
    // The name of a package, no other address, precedes the hyphen.
    let private = ["10.", "172.", "192.168.", "100."].iter().any(|start| found[0].starts_with(start));
    let name = before
        .strip_suffix(['-', '_'])
        .is_some_and(|before| before.ends_with(|c: char| c.is_ascii_alphanumeric()));
    let range = before.strip_suffix('-').is_some_and(|before| {
        let last = before.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        last.matches('.').count() == 3
    });
    before.ends_with("==") || before.ends_with('.') || more || file || (name && !range && !private)
}

/// `ndots:5`, `edns0`
fn is_resolver_option(word: &str) -> bool {
    const OPTIONS: &str = "\
        debug ndots timeout attempts rotate no-check-names inet6 ip6-bytestring edns0 single-request \
        single-request-reopen no-tld-query use-vc no-reload trust-ad no-aaaa";
    let (name, number) = word.split_once(':').unwrap_or((word, "0"));
    listed(OPTIONS, name) && number.len() < 4 && number.bytes().all(|byte| byte.is_ascii_digit())
}

impl Redactor {
    /// E-mail addresses, and names of machines in addresses and by their domain.
    pub(super) fn network_names(&mut self, text: &str) -> String {
        let text = self.replace(&EMAIL, text, |this, found| {
            match found[1].ends_with("example.com") && found[0].starts_with("user-") {
                true => found[0].to_owned(),
                false => format!("user-{}@example.com", this.number("email", &found[0])),
            }
        });
        let text = self.replace(&URL_HOST, &text, |this, found| {
            let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
            let (start, host) = if part(1).is_empty() { (part(3), part(4)) } else { (part(1), part(2)) };
            format!("{start}{}", this.server(host))
        });
        let text = self.replace(&PRIVATE_NAME, &text, |this, found| {
            let end = found.get(0).map_or(0, |whole| whole.end());
            // `google.protobuf.internal.decoder` is a module of Python.
            let goes_on = text.as_bytes().get(end).is_some_and(|next| b"._-(".contains(next));
            if goes_on { found[0].to_owned() } else { this.server(&found[0]) }
        });
        self.names_by_place(&text)
    }

    pub(super) fn addresses(&mut self, text: &str) -> String {
        let text = self.network_names(text);
        let text = self.replace(&IPV4, &text, |this, found| match found[0].parse::<Ipv4Addr>() {
            Ok(address) if !is_version(&text, found) => this.ipv4(address).to_string(),
            _ => found[0].to_owned(),
        });
        self.replace(&IPV6, &text, |this, found| {
            let whole = found.get(0).map_or(0..0, |whole| whole.range());
            let part =
                |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
            // `203.0.113.7::203.0.113.1` is no address of version 6.
            let part_of_word =
                part(text.as_bytes()[..whole.start].last()) || part(text.as_bytes().get(whole.end));
            match found[0].parse::<Ipv6Addr>() {
                Ok(address) if !part_of_word && !address.is_loopback() && !address.is_unspecified() => {
                    this.ipv6(address).to_string()
                }
                _ => found[0].to_owned(),
            }
        })
    }

    /// The stand-in for the name of a machine; addresses, this machine itself and stand-ins stay.
    pub(super) fn server(&mut self, host: &str) -> String {
        let own = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok()
            || host == "host-1"
            || is_public(host)
            || host.ends_with("docker.internal");
        match own || (host.starts_with("server-") && host.ends_with(".example")) {
            true => host.to_owned(),
            false => format!("server-{}.example", self.number("url", host)),
        }
    }

    /// `search corp.example` and `domain corp.example` of resolv.conf.
    pub(super) fn resolver(&mut self, text: &str) -> String {
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            match words.next() {
                Some(key @ ("search" | "domain")) => {
                    let names: Vec<String> =
                        words.map(|name| format!("domain-{}.example", self.number("domain", name))).collect();
                    format!("{key} {}", names.join(" "))
                }
                Some(key @ "nameserver") => {
                    let address = words.next().filter(|word| {
                        let bare = word.split('%').next().unwrap_or_default();
                        bare.parse::<std::net::IpAddr>().is_ok()
                    });
                    format!("{key} {}", address.unwrap_or(HIDDEN))
                }
                Some(key @ "options") => {
                    let shown = words.map(|word| if is_resolver_option(word) { word } else { HIDDEN });
                    format!("{key} {}", shown.collect::<Vec<_>>().join(" "))
                }
                _ => String::new(),
            }
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
    }

    /// The first two numbers become 10.N; the last two stay, so that what was in one network, of whatever
    /// mask from /16 on, is in one network still.
    fn ipv4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let [a, b, c, d] = address.octets();
        let special = address.is_loopback() || address.is_unspecified() || a >= 224 || (a == 169 && b == 254);
        // Docker's own default bridge says nothing about anybody.
        if special || (a == 172 && b == 17) {
            return address;
        }
        if (b, c, d) == (0, 0, 0) {
            return Ipv4Addr::new(10, 0, 0, 0);
        }
        let network = self.number("ipv4", &format!("{a}.{b}"));
        Ipv4Addr::new(10, (network & 0xff) as u8, c, d)
    }

    fn ipv6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        let number = u16::try_from(self.number("ipv6", &address.to_string())).unwrap_or(u16::MAX);
        let (first, second) =
            if address.segments()[0] & 0xffc0 == 0xfe80 { (0xfe80, 0) } else { (0x2001, 0xdb8) };
        Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, number)
    }

    /// `/proc/net/if_inet6` writes addresses as 32 hexadecimal digits.
    pub(super) fn hexadecimal_ipv6(&mut self, digits: &str) -> String {
        match u128::from_str_radix(digits, 16).map(Ipv6Addr::from) {
            Ok(address) if !address.is_loopback() => format!("{:032x}", u128::from(self.ipv6(address))),
            _ => digits.to_owned(),
        }
    }

    /// `/proc/net/route` writes addresses as 8 hexadecimal digits in the machine's byte order:
    /// `eth0 00000000 0112000A 0003 0 0 0 00000000 0 0 0`
    pub(super) fn route(&mut self, text: &str) -> String {
        let mut lines = Vec::new();
        for line in text.lines() {
            let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
            for field in fields.iter_mut().skip(1).take(2) {
                if let (Ok(address), true) = (u32::from_str_radix(field, 16), field.len() == 8) {
                    let address = self.ipv4(Ipv4Addr::from(address.swap_bytes()));
                    *field = format!("{:08X}", u32::from(address).swap_bytes());
                }
            }
            lines.push(fields.join("\t"));
        }
        lines.join("\n") + "\n"
    }
}
