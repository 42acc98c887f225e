#!/bin/bash
# A network's module offers its one function, and leaves the network's own library to be opened at run time.
#   check_network_module.sh <nm> <module>
set -u
nm=$1 module=$2
names=$("$nm" --dynamic --defined-only "$module" | sed -E 's/^[0-9a-f]* +[A-Za-z] //') || exit 2
if [ "$names" != atoll_network_plugin_1 ]; then
  echo "$module exports something else than atoll_network_plugin_1:"
  printf '%s\n' "$names"
  exit 1
fi
foreign=$("$nm" --dynamic --undefined-only "$module" | grep -E ' (uc[pst]|fi)_')
if [ -n "$foreign" ]; then
  echo "$module is linked with its network's library:"
  printf '%s\n' "$foreign"
  exit 1
fi
