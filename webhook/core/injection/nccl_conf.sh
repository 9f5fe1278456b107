# Write our settings, then those of the image, to the file that the training container finds at /etc/nccl.conf.
# NCCL takes the first line that names a variable. POSIX sh; runs no other program. Exit status 73: the file cannot be written.
conf=${FABRIC_INJECTOR_NCCL_CONF_OUT:-/etc/fabric-injector-nccl/nccl.conf} theirs=${FABRIC_INJECTOR_NCCL_CONF_IN:-/etc/nccl.conf}
{
  printf '%s\n' "$FABRIC_INJECTOR_NCCL_CONF"
  if [ -r "$theirs" ]; then
    while IFS= read -r line || [ -n "$line" ]; do printf '%s\n' "$line"; done < "$theirs"
  fi
} > "$conf" || { echo "fabric-injector: $conf cannot be written" >&2; exit 73; }
