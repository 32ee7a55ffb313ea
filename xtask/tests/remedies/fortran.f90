program remedies
  implicit none
  character(len=64) :: name, path, word
  integer :: unit, i, count
  call get_command_argument(1, name)
  call get_command_argument(2, path)
  call get_command_argument(4, word)
  if (index(name, "/") == 0) stop 2
  read (word, *) count
  open (newunit=unit, file=path, action="write")
  select case (name)
  case ("adjacent-writes/file 0")
    do i = 0, count - 1
      write (unit, "(a, i31.31)") "record ", i
      flush(unit)
    end do
  case ("adjacent-writes/file 1")
    do i = 0, count - 1
      write (unit, "(a, i31.31)") "record ", i
    end do
    flush(unit)
    ! An end that flushes nothing.
    call kill(getpid(), 9)
  end select
end program
