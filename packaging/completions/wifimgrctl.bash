# Bash completion of wifimgrctl; ids and names come from the running service.

_wifimgrctl() {
    local cur prev word command='' action='' words=() i
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD - 1]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
            --bus | --timeout | --ssid | --ssid-hex | --name | --codename | --group | --interface | --priority) ((i++)) ;;
            --auto-reconnect | --auto-wake | --pin-mac | --pin-usb-port | --since | --address | --seconds) ((i++)) ;;
            --country | --listen | --mqtt-broker | --mqtt-user | --mqtt-password-file | --mqtt-commands | --strict-models) ((i++)) ;;
            --qr | --match | --camera | --percent | --reason | --connections | --heals) ((i++)) ;;
            --password-file | --passphrase-file | --config | --tileset | --bbox | --zoom | --url) ((i++)) ;;
            -*) ;;
            *)
                if [[ -z $command ]]; then command=$word; elif [[ -z $action ]]; then action=$word; fi
                ;;
        esac
    done
    case $prev in
        --bus) mapfile -t COMPREPLY < <(compgen -W 'system session' -- "$cur"); return ;;
        --password-file | --mqtt-password-file | --passphrase-file | --config) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --camera) _wifimgrctl_of_service devices; return ;;
        --country | --listen | --mqtt-broker | --mqtt-user | --qr | --match | --percent | --reason | --connections | --heals) return ;;
        --interface) _wifimgrctl_of_service interfaces; return ;;
        --codename) _wifimgrctl_of_service codenames; return ;;
        --group) _wifimgrctl_of_service groups; return ;;
        --auto-reconnect | --auto-wake | --mqtt-commands | --strict-models) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$cur"); return ;;
        --priority | --pin-mac | --pin-usb-port | --since | --address | --seconds) return ;;
        --ssid | --ssid-hex | --name | --timeout | --tileset | --bbox | --zoom | --url) return ;;
    esac
    if [[ $cur == -* ]]; then
        words=(--json --bus --help)
        case $command in
            '') words+=(--version) ;;
            add)
                words+=(--ssid --ssid-hex --qr --bluetooth --name --codename --password-file --password-stdin --open)
                words+=(--priority --auto-reconnect --auto-wake --pin-mac --pin-usb-port --when-free --no-connect)
                ;;
            import) words+=(--dry-run --match --when-free --no-connect) ;;
            set)
                words+=(--name --ssid --ssid-hex --codename --priority --auto-reconnect --auto-wake --pin-mac --pin-usb-port)
                words+=(--no-pin --password-file --password-stdin --ask-password --open)
                ;;
            models) words+=(--config) ;;
            history) words+=(--since --signal) ;;
            remove) words+=(--history --yes) ;;
            connect) words+=(--all --group --partial --no-wait --timeout --wake --when-free) ;;
            disconnect) words+=(--timeout) ;;
            record | stop) words+=(--all --connected) ;;
            wake | sleep) words+=(--no-wait --timeout) ;;
            pair) words+=(--address --no-wait --timeout) ;;
            bluetooth) [[ -z $action ]] || words+=(--seconds) ;;
            networks) words+=(--interface) ;;
            backup) words+=(--encrypt --passphrase-file) ;;
            restore) words+=(--replace --passphrase-file) ;;
            setup)
                words+=(--country --listen --new-token --mqtt-broker --mqtt-user --mqtt-password-file --mqtt-commands)
                words+=(--strict-models --config --dry-run --yes)
                ;;
            simulate)
                case $action in
                    power-off) words+=(--cut) ;;
                    fault) words+=(--off --camera --interface --seconds --percent --speed --minutes --reason --connections --heals --crashed --hard --drains) ;;
                esac
                ;;
            tiles) words+=(--config); [[ $action != check ]] || words+=(--tileset --bbox --zoom --url) ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
        return
    fi
    case $command in
        '' | help)
            words=(devices groups interfaces networks add import export set models remove connect disconnect wake sleep pair unpair record stop clock bluetooth status history tiles simulate setup diagnose backup restore monitor watch completions help)
            mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur")
            ;;
        record | stop | connect) _wifimgrctl_of_service devices ;;
        disconnect | wake | sleep | pair | unpair | clock | remove | set | history | status) [[ -n $action ]] || _wifimgrctl_of_service devices ;;
        backup | restore | import | export) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        bluetooth)
            case $action in
                '') mapfile -t COMPREPLY < <(compgen -W 'search check' -- "$cur") ;;
                check) _wifimgrctl_of_service devices ;;
            esac
            ;;
        simulate)
            case $action in
                '') mapfile -t COMPREPLY < <(compgen -W 'power-on power-off sleep plug unplug fault' -- "$cur") ;;
                power-on | power-off | sleep) _wifimgrctl_of_service devices ;;
                plug | unplug) _wifimgrctl_of_service interfaces ;;
            esac
            ;;
        tiles) [[ -n $action ]] || mapfile -t COMPREPLY < <(compgen -W 'list check' -- "$cur") ;;
    esac
}

# What the service has, one a line: names may have blanks in them.
_wifimgrctl_of_service() {
    local one plain
    plain=${cur//\\/}
    COMPREPLY=()
    while IFS=$'\t' read -r one _; do
        [[ $one != "$plain"* ]] || COMPREPLY+=("$(printf %q "$one")")
    done < <(wifimgrctl completions "$1" 2>/dev/null)
}

complete -F _wifimgrctl wifimgrctl
