# SPDX-License-Identifier: MIT
#
# Sourced: a camera, and npu-cam with it.
tmp=/tmp/camera
mkdir -p $tmp

# load_camera vmalloc|contiguous: $single has planes in one piece of memory, $multi the other API.
load_camera()
{
	local allocator=0

	[ "$1" = vmalloc ] || allocator=1
	# Its thread waits until a moment that has passed when the processor was taken away.
	echo 'npu-test: expect schedule_timeout: wrong timeout value' >/dev/kmsg
	modprobe vivid n_devs=2 node_types=1,1 multiplanar=1,2 allocators=$allocator,$allocator || exit 1
	set -- $(ls /sys/class/video4linux | sort)
	single=/dev/$1
	multi=/dev/$2
}

unload_camera()
{
	rmmod vivid
	ktap_result $? "camera_is_free"
}

# cam DEVICE OPTION...: npu-cam, its output in $tmp/out and $tmp/err.
cam()
{
	npu-cam -d "$@" >$tmp/out 2>$tmp/err
}

# dump NAME MODEL WxH DEVICE OPTION...
dump()
{
	local name=$1 model=$2 size=$3 device=$4 format=$2 dir=/mnt/host/dump/$1

	shift 4
	case $format in
	hd)	format=rgb24 ;;
	large)	format=nv12 ;;
	large_*) format=${format#large_} ;;
	esac
	mkdir -p "$dir"
	cam "$device" -m "/mnt/host/$model.npu" -n 4 --fps 25 --json --values 1 --dump "$dir" "$@"
	ktap_result $? "$name" || { cat $tmp/err; rmdir "$dir"; return; }
	echo "$format $size $(sed -n 's/.*"stride":\([0-9]*\).*/\1/p' $tmp/out) $(grep -c '^{"frame"' $tmp/out)" >"$dir/spec"
}

counter()
{
	sed -n "s/^$1: //p" /sys/kernel/debug/accel/*/counters
}

# maps PID: how often frames are mapped by a program.
maps()
{
	grep -c -e dmabuf -e /dev/video "/proc/$1/maps"
}

# lines N: wait until npu-cam has written N lines, or is gone.
lines()
{
	while [ "$(wc -l <$tmp/out)" -lt "$1" ] && kill -0 $pid 2>/dev/null; do
		sleep 0.1
	done
}
