const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

/**
 * Programs that run what their arguments say, and words of the shell that evaluate them. No such list is complete, so
 * an allow rule names its programs.
 */
export const RUNS_ARGUMENTS = words(
  `sh bash dash ash zsh ksh mksh fish csh tcsh busybox toybox
  env command builtin exec eval source . alias unalias hash enable complete trap let declare typeset local export
  readonly read mapfile readarray unset coproc bind fc
  nohup nice ionice timeout time xargs parallel sudo doas su run0 pkexec runuser setpriv setsid stdbuf unbuffer chroot
  unshare nsenter ssh watch script expect strace ltrace gdb flock at batch crontab systemd-run chpst taskset numactl
  proxychains chronic rlwrap firejail bwrap prlimit dbus-run-session entr`,
)

/** Programs that run something only with some arguments. */
export const RUNS_WITH: ReadonlyMap<string, RegExp> = new Map([
  ['find', /^-(?:exec|execdir|ok|okdir)$/],
  ['git', /^-c|^--(?:config-env|exec-path)/],
  ['printf', /^-v/],
  ['test', /^-(?:v|R|eq|ne|lt|le|gt|ge)$/],
])

/** Words of the grammar of some shell. */
export const RESERVED = words(
  `if then else elif fi do done case esac while until for in function select { } ! [[ ]] time coproc repeat foreach end
  nocorrect noglob always`,
)
