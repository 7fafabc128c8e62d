//! What a sandbox reaches.

use std::net::{TcpListener, UdpSocket};

use super::shared;

#[test]
fn without_a_network_there_is_the_loopback_alone() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    assert_eq!(sandbox.sh("ls /sys/class/net"), "lo\n");
    let script = "import socket\na = socket.create_server(('127.0.0.1', 0)); socket.create_connection(a.getsockname())\n\
                  s = socket.socket(); s.settimeout(3)\ntry: s.connect(('198.51.100.1', 80))\nexcept OSError as e: print(e.strerror)";
    assert_eq!(sandbox.exec(&["python3", "-c", script]).success(), "Network is unreachable\n");
}

#[test]
fn the_package_archive_is_reached_by_name() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base"]);
    let ran = sandbox.exec(&["sh", "-c", "sudo apt-get update"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    assert!(ran.stdout.contains("bookworm InRelease") || ran.stdout.contains("bookworm "), "{ran:#?}");
    assert!(!ran.stderr.contains("Temporary failure"), "{ran:#?}");
}

/// The address under which the host would send to others, which is one of its own.
fn address_of_host() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent.
    socket.connect("198.51.100.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip().to_string())
}

#[test]
fn servers_of_the_host_are_not_reached() {
    let Some(abx) = shared() else { return };
    let server = TcpListener::bind("0.0.0.0:0").expect("bind");
    let port = server.local_addr().expect("address").port();
    let sandbox = abx.create(&["base"]);
    let gateway = sandbox.sh("awk '$2 == \"00000000\" { print $3 }' /proc/net/route");
    let gateway = u32::from_str_radix(gateway.trim(), 16).expect("a gateway").to_le_bytes();
    let mut addresses = vec![gateway.map(|byte| byte.to_string()).join("."), "127.0.0.1".to_owned()];
    addresses.extend(address_of_host());
    for address in addresses {
        let script = "import socket, sys\ns = socket.socket(); s.settimeout(1)\ntry: s.connect((sys.argv[1], int(sys.argv[2]))); print('reached')\n\
                      except OSError as e: print('refused')";
        let ran = sandbox.exec(&["python3", "-c", script, &address, &port.to_string()]);
        assert_eq!(ran.success(), "refused\n", "{address}:{port}");
    }
}

#[test]
fn sandboxes_do_not_reach_each_other() {
    let Some(abx) = shared() else { return };
    let (one, other) = (abx.create(&["base"]), abx.create(&["base"]));
    one.sh("nohup python3 -m http.server 8000 >/dev/null 2>&1 &");
    let address = one.sh("hostname -I");
    let script = "import socket, sys\ns = socket.socket(); s.settimeout(1)\ntry: s.connect((sys.argv[1], 8000)); print('reached')\n\
                  except OSError as e: print('refused')";
    let reach = |sandbox: &abx_test::LiveSandbox<'_>| {
        sandbox.exec(&["python3", "-c", script, address.trim()]).success()
    };
    abx_test::wait_until("the server", || (reach(&one) == "reached\n").then_some(()));
    assert_eq!(reach(&other), "refused\n");
}

#[test]
fn the_hosts_settings_are_seen_inside_but_no_file_of_the_image_changed() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base"]);
    let resolver = sandbox.sh("cat /etc/resolv.conf");
    assert!(resolver.contains("nameserver "), "{resolver}");
    assert_eq!(sandbox.sh("getent hosts localhost | head -1 | wc -l"), "1\n");
    assert!(sandbox.sh("cat /etc/hosts").contains(&sandbox.id[..12]));
}
